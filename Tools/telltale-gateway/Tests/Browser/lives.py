"""The whole life of an activity of each shipped kind, as events with their data."""

import time


def eta(minutes):
    return int(time.time() * 1000) + minutes * 60_000


COFFEE = {"attributes": {"shop": "Blue Bottle", "item": "Flat white", "name": "Ada"}, "content-state": {"eta": eta(8)}}
BISTRO = {
    "attributes": {"restaurant": "Trattoria Bella", "table": "4"},
    "content-state": {"eta": eta(26), "rider": "Mia", "phone": "030123"},
}

LIVES = {
    "coffee-order": [
        ("start", {"attributes": COFFEE["attributes"]}), ("CONFIRMED", {"content-state": COFFEE["content-state"]}),
        ("brew", {}), ("ready", {"content-state": {"shelf": "B"}}), ("collect", {})],
    "bistro-order": [
        ("ordered", BISTRO), ("starter_ready", {}), ("main_ready", {}), ("dessert_ready", {}), ("picked_up", {}),
        ("delivered", {})],
    "flight": [
        ("scheduled_departure", {"content-state": {"origin": "EWR", "dest": "IAH"}}), ("delayed", {}),
        ("departed", {"content-state": {"origin": "EWR", "dest": "IAH", "eta": eta(130)}}), ("arrived", {})],
    "parcel": [("purchased", {}), ("approved", {}), ("handed_to_carrier", {}), ("delivered", {})],
    "shop-order": [
        ("placed", {"attributes": {"item": "Espresso cups", "store": "Example Store", "number": "#1001"}}), ("paid", {}),
        ("shipped", {}), ("out_for_delivery", {}), ("delivered", {})],
    "pickup-order": [
        ("created", {"attributes": {"location": "Main Street 4"}}), ("reserved", {}), ("prepared", {}), ("completed", {})],
    "card-payment": [
        ("created", {"attributes": {"description": "Espresso cups", "amount": "42.50", "currency": "EUR"}}),
        ("processing", {}), ("succeeded", {})],
}


def post(gateway, key, type, data):
    answer = gateway.post(f"/v1/entities/{key}/events/{type}", data)
    assert answer.status == 200, answer.text
    return answer.json


def live(gateway, key, until=None):
    """Posts the life of a key, or its beginning; returns the last answer."""
    for type, data in LIVES[key.split("/")[0]][:until]:
        answer = post(gateway, key, type, data)
    return answer
