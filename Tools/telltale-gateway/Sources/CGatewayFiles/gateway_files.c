// The files that the gateway has inside. The compiler reads them as they are: as literals of Swift they took it half a minute. A test
// compares the list with the folders.

#include "CGatewayFiles.h"

#include <string.h>

#pragma clang diagnostic ignored "-Wc23-extensions"

// A zero byte ends each file: all of them are texts.
#define BEGIN(name) {name, (const unsigned char[]){
#define END , 0}, 0}

static struct telltale_gateway_file counted(struct telltale_gateway_file file) {
    file.count = file.bytes ? strlen((const char *)file.bytes) : 0;
    return file;
}

static const struct telltale_gateway_file files[] = {
    BEGIN("page.html")
#embed "../Board/Page/page.html"
    END,
    BEGIN("showcase.html")
#embed "../Board/Page/showcase.html"
    END,
    BEGIN("icon.svg")
#embed "../Board/Page/icon.svg"
    END,
    BEGIN("base.css")
#embed "../Board/Page/base.css"
    END,
    BEGIN("board.css")
#embed "../Board/Page/board.css"
    END,
    BEGIN("devices.css")
#embed "../Board/Page/devices.css"
    END,
    BEGIN("diagram.css")
#embed "../Board/Page/diagram.css"
    END,
    BEGIN("elements.css")
#embed "../Board/Page/elements.css"
    END,
    BEGIN("playground.css")
#embed "../Board/Page/playground.css"
    END,
    BEGIN("showcase.css")
#embed "../Board/Page/showcase.css"
    END,
    BEGIN("views.css")
#embed "../Board/Page/views.css"
    END,
    BEGIN("widgets.css")
#embed "../Board/Page/widgets.css"
    END,
    BEGIN("api.js")
#embed "../Board/Page/api.js"
    END,
    BEGIN("arrange.js")
#embed "../Board/Page/arrange.js"
    END,
    BEGIN("board.js")
#embed "../Board/Page/board.js"
    END,
    BEGIN("boards.js")
#embed "../Board/Page/boards.js"
    END,
    BEGIN("cards.js")
#embed "../Board/Page/cards.js"
    END,
    BEGIN("clock.js")
#embed "../Board/Page/clock.js"
    END,
    BEGIN("controls.js")
#embed "../Board/Page/controls.js"
    END,
    BEGIN("devices.js")
#embed "../Board/Page/devices.js"
    END,
    BEGIN("diagram.js")
#embed "../Board/Page/diagram.js"
    END,
    BEGIN("dom.js")
#embed "../Board/Page/dom.js"
    END,
    BEGIN("editor.js")
#embed "../Board/Page/editor.js"
    END,
    BEGIN("elements.js")
#embed "../Board/Page/elements.js"
    END,
    BEGIN("events.js")
#embed "../Board/Page/events.js"
    END,
    BEGIN("examples.js")
#embed "../Board/Page/examples.js"
    END,
    BEGIN("home.js")
#embed "../Board/Page/home.js"
    END,
    BEGIN("icons.js")
#embed "../Board/Page/icons.js"
    END,
    BEGIN("kinds.js")
#embed "../Board/Page/kinds.js"
    END,
    BEGIN("link.js")
#embed "../Board/Page/link.js"
    END,
    BEGIN("machine.js")
#embed "../Board/Page/machine.js"
    END,
    BEGIN("main.js")
#embed "../Board/Page/main.js"
    END,
    BEGIN("picker.js")
#embed "../Board/Page/picker.js"
    END,
    BEGIN("places.js")
#embed "../Board/Page/places.js"
    END,
    BEGIN("playground.js")
#embed "../Board/Page/playground.js"
    END,
    BEGIN("screens.js")
#embed "../Board/Page/screens.js"
    END,
    BEGIN("share.js")
#embed "../Board/Page/share.js"
    END,
    BEGIN("showcase.js")
#embed "../Board/Page/showcase.js"
    END,
    BEGIN("signin.js")
#embed "../Board/Page/signin.js"
    END,
    BEGIN("symbols.js")
#embed "../Board/Page/symbols.js"
    END,
    BEGIN("timeline.js")
#embed "../Board/Page/timeline.js"
    END,
    BEGIN("trial.js")
#embed "../Board/Page/trial.js"
    END,
    BEGIN("views.js")
#embed "../Board/Page/views.js"
    END,
    BEGIN("wall.js")
#embed "../Board/Page/wall.js"
    END,
    BEGIN("widgets.js")
#embed "../Board/Page/widgets.js"
    END,
    BEGIN("channel.js")
#embed "../../../clients/javascript/src/channel.js"
    END,
    BEGIN("follow.js")
#embed "../../../clients/javascript/src/follow.js"
    END,
    BEGIN("gateway.js")
#embed "../../../clients/javascript/src/gateway.js"
    END,
    BEGIN("servertime.js")
#embed "../../../clients/javascript/src/servertime.js"
    END,
    BEGIN("shared.js")
#embed "../../../clients/javascript/src/shared.js"
    END,
    BEGIN("sse.js")
#embed "../../../clients/javascript/src/sse.js"
    END,
    BEGIN("stream.js")
#embed "../../../clients/javascript/src/stream.js"
    END,
    BEGIN("tabs.js")
#embed "../../../clients/javascript/src/tabs.js"
    END,
    BEGIN("telltale.js")
#embed "../../../clients/javascript/src/telltale.js"
    END,
    BEGIN("bistro-order.json")
#embed "../../../../Protocols/Kinds/examples/bistro-order.json"
    END,
    BEGIN("cancel-order.json")
#embed "../../../../Protocols/Kinds/examples/cancel-order.json"
    END,
    BEGIN("coffee-order.json")
#embed "../../../../Protocols/Kinds/examples/coffee-order.json"
    END,
    BEGIN("coffee-tip.json")
#embed "../../../../Protocols/Kinds/examples/coffee-tip.json"
    END,
    BEGIN("flight.json")
#embed "../../../../Protocols/Kinds/examples/flight.json"
    END,
    BEGIN("leave-at-door.json")
#embed "../../../../Protocols/Kinds/examples/leave-at-door.json"
    END,
    BEGIN("log-coffee.json")
#embed "../../../../Protocols/Kinds/examples/log-coffee.json"
    END,
    BEGIN("parcel.json")
#embed "../../../../Protocols/Kinds/examples/parcel.json"
    END,
    BEGIN("porch-light.json")
#embed "../../../../Protocols/Kinds/examples/porch-light.json"
    END,
    BEGIN("store-open.json")
#embed "../../../../Protocols/Kinds/examples/store-open.json"
    END,
};

static const struct telltale_gateway_file openapi =
    BEGIN("openapi.json")
#embed "../../../../Protocols/HTTP/openapi.json"
    END;

size_t telltale_gateway_file_count(void) { return sizeof files / sizeof *files; }

struct telltale_gateway_file telltale_gateway_file_at(size_t index) {
    struct telltale_gateway_file none = {"", 0, 0};
    return counted(index < telltale_gateway_file_count() ? files[index] : none);
}

struct telltale_gateway_file telltale_gateway_openapi(void) { return counted(openapi); }
