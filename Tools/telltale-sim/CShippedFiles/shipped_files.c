// The files that telltale-sim has inside. The compiler reads them, so what a program holds is what the files were when it was
// built. A test compares the list with the folders.

#include "telltale_shipped_files.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char scenarios_a_family[] = {
#embed "../Scenarios/a-family.json"
};
static const unsigned char scenarios_bistro_at_the_door[] = {
#embed "../Scenarios/bistro-at-the-door.json"
};
static const unsigned char scenarios_coffee_in_the_car[] = {
#embed "../Scenarios/coffee-in-the-car.json"
};
static const unsigned char scenarios_flight_with_a_delay[] = {
#embed "../Scenarios/flight-with-a-delay.json"
};
static const unsigned char scenarios_full_disk[] = {
#embed "../Scenarios/full-disk.json"
};
static const unsigned char scenarios_light_that_will_not_switch[] = {
#embed "../Scenarios/light-that-will-not-switch.json"
};
static const unsigned char scenarios_lossy_train[] = {
#embed "../Scenarios/lossy-train.json"
};
static const unsigned char scenarios_lunch_rush[] = {
#embed "../Scenarios/lunch-rush.json"
};
static const unsigned char scenarios_poisoned_producer[] = {
#embed "../Scenarios/poisoned-producer.json"
};
static const unsigned char scenarios_quiet_morning[] = {
#embed "../Scenarios/quiet-morning.json"
};
static const unsigned char scenarios_reconnect_storm[] = {
#embed "../Scenarios/reconnect-storm.json"
};
static const unsigned char scenarios_data_notice[] = {
#embed "../Scenarios/data/NOTICE.md"
};
static const unsigned char scenarios_data_nycflights13_500[] = {
#embed "../Scenarios/data/nycflights13_500.csv"
};
static const unsigned char scenarios_data_olist_orders_500[] = {
#embed "../Scenarios/data/olist_orders_500.csv"
};
static const unsigned char kinds_bistro_order[] = {
#embed "../../../Protocols/Kinds/examples/bistro-order.json"
};
static const unsigned char kinds_cancel_order[] = {
#embed "../../../Protocols/Kinds/examples/cancel-order.json"
};
static const unsigned char kinds_coffee_order[] = {
#embed "../../../Protocols/Kinds/examples/coffee-order.json"
};
static const unsigned char kinds_coffee_tip[] = {
#embed "../../../Protocols/Kinds/examples/coffee-tip.json"
};
static const unsigned char kinds_dispatch[] = {
#embed "../../../Protocols/Kinds/widgets/dispatch.json"
};
static const unsigned char kinds_flight[] = {
#embed "../../../Protocols/Kinds/examples/flight.json"
};
static const unsigned char kinds_kitchen[] = {
#embed "../../../Protocols/Kinds/widgets/kitchen.json"
};
static const unsigned char kinds_leave_at_door[] = {
#embed "../../../Protocols/Kinds/examples/leave-at-door.json"
};
static const unsigned char kinds_log_coffee[] = {
#embed "../../../Protocols/Kinds/examples/log-coffee.json"
};
static const unsigned char kinds_parcel[] = {
#embed "../../../Protocols/Kinds/examples/parcel.json"
};
static const unsigned char kinds_porch_light[] = {
#embed "../../../Protocols/Kinds/examples/porch-light.json"
};
static const unsigned char kinds_sales[] = {
#embed "../../../Protocols/Kinds/widgets/sales.json"
};
static const unsigned char kinds_store_open[] = {
#embed "../../../Protocols/Kinds/examples/store-open.json"
};

static const struct telltale_shipped_file files[] = {
    {"scenarios/a-family.json", scenarios_a_family, sizeof scenarios_a_family},
    {"scenarios/bistro-at-the-door.json", scenarios_bistro_at_the_door, sizeof scenarios_bistro_at_the_door},
    {"scenarios/coffee-in-the-car.json", scenarios_coffee_in_the_car, sizeof scenarios_coffee_in_the_car},
    {"scenarios/flight-with-a-delay.json", scenarios_flight_with_a_delay, sizeof scenarios_flight_with_a_delay},
    {"scenarios/full-disk.json", scenarios_full_disk, sizeof scenarios_full_disk},
    {"scenarios/light-that-will-not-switch.json", scenarios_light_that_will_not_switch, sizeof scenarios_light_that_will_not_switch},
    {"scenarios/lossy-train.json", scenarios_lossy_train, sizeof scenarios_lossy_train},
    {"scenarios/lunch-rush.json", scenarios_lunch_rush, sizeof scenarios_lunch_rush},
    {"scenarios/poisoned-producer.json", scenarios_poisoned_producer, sizeof scenarios_poisoned_producer},
    {"scenarios/quiet-morning.json", scenarios_quiet_morning, sizeof scenarios_quiet_morning},
    {"scenarios/reconnect-storm.json", scenarios_reconnect_storm, sizeof scenarios_reconnect_storm},
    {"scenarios/data/" "NOTICE.md", scenarios_data_notice, sizeof scenarios_data_notice},
    {"scenarios/data/nycflights13_500.csv", scenarios_data_nycflights13_500, sizeof scenarios_data_nycflights13_500},
    {"scenarios/data/olist_orders_500.csv", scenarios_data_olist_orders_500, sizeof scenarios_data_olist_orders_500},
    {"kinds/bistro-order.json", kinds_bistro_order, sizeof kinds_bistro_order},
    {"kinds/cancel-order.json", kinds_cancel_order, sizeof kinds_cancel_order},
    {"kinds/coffee-order.json", kinds_coffee_order, sizeof kinds_coffee_order},
    {"kinds/coffee-tip.json", kinds_coffee_tip, sizeof kinds_coffee_tip},
    {"kinds/dispatch.json", kinds_dispatch, sizeof kinds_dispatch},
    {"kinds/flight.json", kinds_flight, sizeof kinds_flight},
    {"kinds/kitchen.json", kinds_kitchen, sizeof kinds_kitchen},
    {"kinds/leave-at-door.json", kinds_leave_at_door, sizeof kinds_leave_at_door},
    {"kinds/log-coffee.json", kinds_log_coffee, sizeof kinds_log_coffee},
    {"kinds/parcel.json", kinds_parcel, sizeof kinds_parcel},
    {"kinds/porch-light.json", kinds_porch_light, sizeof kinds_porch_light},
    {"kinds/sales.json", kinds_sales, sizeof kinds_sales},
    {"kinds/store-open.json", kinds_store_open, sizeof kinds_store_open},
};

size_t telltale_shipped_file_count(void) { return sizeof files / sizeof files[0]; }

struct telltale_shipped_file telltale_shipped_file_at(size_t index) {
    struct telltale_shipped_file none = {"", 0, 0};
    return index < telltale_shipped_file_count() ? files[index] : none;
}
