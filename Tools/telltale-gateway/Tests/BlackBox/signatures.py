"""Signs deliveries as the senders document it."""

import base64
import hashlib
import hmac
import time


def digest(secret, message):
    return hmac.new(secret.encode(), message, hashlib.sha256)


def shopify(body, secret="shopify-secret", topic="orders/create", delivery="b54557e4"):
    return {"X-Shopify-Hmac-SHA256": base64.b64encode(digest(secret, body).digest()).decode(),
            "X-Shopify-Topic": topic, "X-Shopify-Webhook-Id": delivery,
            "X-Shopify-Shop-Domain": "hoegi.myshopify.com", "Content-Type": "application/json"}


def woocommerce(body, secret="woo-secret", topic="order.updated", delivery="9c1", webhook="12"):
    return {"X-WC-Webhook-Signature": base64.b64encode(digest(secret, body).digest()).decode(),
            "X-WC-Webhook-Topic": topic, "X-WC-Webhook-Delivery-ID": delivery, "X-WC-Webhook-ID": webhook,
            "X-WC-Webhook-Source": "https://shop.example.com/", "Content-Type": "application/json"}


def stripe(body, secret="stripe-secret", at=None):
    at = int(time.time()) if at is None else at
    good = digest(secret, f"{at}.".encode() + body).hexdigest()
    return {"Stripe-Signature": f"t={at},v1={'0' * 64},v1={good},v0={'0' * 64}", "Content-Type": "application/json"}


def square(body, secret="square-secret", url="https://shop.example.com/v1/hooks/square"):
    return {"x-square-hmacsha256-signature": base64.b64encode(digest(secret, url.encode() + body).digest()).decode(),
            "Content-Type": "application/json"}


def github(body, secret="github-secret", event="release", delivery="72d3162e"):
    return {"X-Hub-Signature-256": f"sha256={digest(secret, body).hexdigest()}", "X-GitHub-Event": event,
            "X-GitHub-Delivery": delivery}
