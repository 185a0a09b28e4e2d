// The files that telltale-sim has inside. The compiler reads them, so what a program holds is what the files were when it was
// built. A test compares the list with the folders.

#include "telltale_shipped_files.h"

#include <string.h>

#pragma clang diagnostic ignored "-Wc23-extensions"

// A zero byte ends each file: all of them are texts.
#define BEGIN(name) {name, (const unsigned char[]){
#define END , 0}, 0}

static const struct telltale_shipped_file files[] = {
    BEGIN("scenarios/a-family.json")
#embed "../Scenarios/a-family.json"
    END,
    BEGIN("scenarios/bistro-at-the-door.json")
#embed "../Scenarios/bistro-at-the-door.json"
    END,
    BEGIN("scenarios/coffee-in-the-car.json")
#embed "../Scenarios/coffee-in-the-car.json"
    END,
    BEGIN("scenarios/flight-with-a-delay.json")
#embed "../Scenarios/flight-with-a-delay.json"
    END,
    BEGIN("scenarios/full-disk.json")
#embed "../Scenarios/full-disk.json"
    END,
    BEGIN("scenarios/light-that-will-not-switch.json")
#embed "../Scenarios/light-that-will-not-switch.json"
    END,
    BEGIN("scenarios/lossy-train.json")
#embed "../Scenarios/lossy-train.json"
    END,
    BEGIN("scenarios/lunch-rush.json")
#embed "../Scenarios/lunch-rush.json"
    END,
    BEGIN("scenarios/poisoned-producer.json")
#embed "../Scenarios/poisoned-producer.json"
    END,
    BEGIN("scenarios/quiet-morning.json")
#embed "../Scenarios/quiet-morning.json"
    END,
    BEGIN("scenarios/reconnect-storm.json")
#embed "../Scenarios/reconnect-storm.json"
    END,
    BEGIN("scenarios/data/" "NOTICE.md")
#embed "../Scenarios/data/NOTICE.md"
    END,
    BEGIN("scenarios/data/nycflights13_500.csv")
#embed "../Scenarios/data/nycflights13_500.csv"
    END,
    BEGIN("scenarios/data/olist_orders_500.csv")
#embed "../Scenarios/data/olist_orders_500.csv"
    END,
    BEGIN("kinds/bistro-order.json")
#embed "../../../Protocols/Kinds/examples/bistro-order.json"
    END,
    BEGIN("kinds/cancel-order.json")
#embed "../../../Protocols/Kinds/examples/cancel-order.json"
    END,
    BEGIN("kinds/coffee-order.json")
#embed "../../../Protocols/Kinds/examples/coffee-order.json"
    END,
    BEGIN("kinds/coffee-tip.json")
#embed "../../../Protocols/Kinds/examples/coffee-tip.json"
    END,
    BEGIN("kinds/dispatch.json")
#embed "../../../Protocols/Kinds/widgets/dispatch.json"
    END,
    BEGIN("kinds/flight.json")
#embed "../../../Protocols/Kinds/examples/flight.json"
    END,
    BEGIN("kinds/kitchen.json")
#embed "../../../Protocols/Kinds/widgets/kitchen.json"
    END,
    BEGIN("kinds/leave-at-door.json")
#embed "../../../Protocols/Kinds/examples/leave-at-door.json"
    END,
    BEGIN("kinds/log-coffee.json")
#embed "../../../Protocols/Kinds/examples/log-coffee.json"
    END,
    BEGIN("kinds/parcel.json")
#embed "../../../Protocols/Kinds/examples/parcel.json"
    END,
    BEGIN("kinds/porch-light.json")
#embed "../../../Protocols/Kinds/examples/porch-light.json"
    END,
    BEGIN("kinds/sales.json")
#embed "../../../Protocols/Kinds/widgets/sales.json"
    END,
    BEGIN("kinds/store-open.json")
#embed "../../../Protocols/Kinds/examples/store-open.json"
    END,
};

size_t telltale_shipped_file_count(void) { return sizeof files / sizeof files[0]; }

struct telltale_shipped_file telltale_shipped_file_at(size_t index) {
    struct telltale_shipped_file file = {"", 0, 0};
    if (index < telltale_shipped_file_count()) {
        file = files[index];
        file.count = strlen((const char *)file.bytes);
    }
    return file;
}
