// The files that the gateway has inside. The compiler reads them as they are: as literals of Swift they took it half a minute. A test
// compares the list with the folders.

#include "CGatewayFiles.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char page_html[] = {
#embed "../Board/Page/page.html"
};
static const unsigned char showcase_html[] = {
#embed "../Board/Page/showcase.html"
};
static const unsigned char icon_svg[] = {
#embed "../Board/Page/icon.svg"
};
static const unsigned char base_css[] = {
#embed "../Board/Page/base.css"
};
static const unsigned char board_css[] = {
#embed "../Board/Page/board.css"
};
static const unsigned char devices_css[] = {
#embed "../Board/Page/devices.css"
};
static const unsigned char diagram_css[] = {
#embed "../Board/Page/diagram.css"
};
static const unsigned char elements_css[] = {
#embed "../Board/Page/elements.css"
};
static const unsigned char playground_css[] = {
#embed "../Board/Page/playground.css"
};
static const unsigned char showcase_css[] = {
#embed "../Board/Page/showcase.css"
};
static const unsigned char views_css[] = {
#embed "../Board/Page/views.css"
};
static const unsigned char widgets_css[] = {
#embed "../Board/Page/widgets.css"
};
static const unsigned char api_js[] = {
#embed "../Board/Page/api.js"
};
static const unsigned char arrange_js[] = {
#embed "../Board/Page/arrange.js"
};
static const unsigned char board_js[] = {
#embed "../Board/Page/board.js"
};
static const unsigned char boards_js[] = {
#embed "../Board/Page/boards.js"
};
static const unsigned char cards_js[] = {
#embed "../Board/Page/cards.js"
};
static const unsigned char clock_js[] = {
#embed "../Board/Page/clock.js"
};
static const unsigned char controls_js[] = {
#embed "../Board/Page/controls.js"
};
static const unsigned char devices_js[] = {
#embed "../Board/Page/devices.js"
};
static const unsigned char diagram_js[] = {
#embed "../Board/Page/diagram.js"
};
static const unsigned char dom_js[] = {
#embed "../Board/Page/dom.js"
};
static const unsigned char editor_js[] = {
#embed "../Board/Page/editor.js"
};
static const unsigned char elements_js[] = {
#embed "../Board/Page/elements.js"
};
static const unsigned char events_js[] = {
#embed "../Board/Page/events.js"
};
static const unsigned char examples_js[] = {
#embed "../Board/Page/examples.js"
};
static const unsigned char home_js[] = {
#embed "../Board/Page/home.js"
};
static const unsigned char icons_js[] = {
#embed "../Board/Page/icons.js"
};
static const unsigned char kinds_js[] = {
#embed "../Board/Page/kinds.js"
};
static const unsigned char link_js[] = {
#embed "../Board/Page/link.js"
};
static const unsigned char machine_js[] = {
#embed "../Board/Page/machine.js"
};
static const unsigned char main_js[] = {
#embed "../Board/Page/main.js"
};
static const unsigned char picker_js[] = {
#embed "../Board/Page/picker.js"
};
static const unsigned char places_js[] = {
#embed "../Board/Page/places.js"
};
static const unsigned char playground_js[] = {
#embed "../Board/Page/playground.js"
};
static const unsigned char screens_js[] = {
#embed "../Board/Page/screens.js"
};
static const unsigned char share_js[] = {
#embed "../Board/Page/share.js"
};
static const unsigned char showcase_js[] = {
#embed "../Board/Page/showcase.js"
};
static const unsigned char signin_js[] = {
#embed "../Board/Page/signin.js"
};
static const unsigned char symbols_js[] = {
#embed "../Board/Page/symbols.js"
};
static const unsigned char timeline_js[] = {
#embed "../Board/Page/timeline.js"
};
static const unsigned char trial_js[] = {
#embed "../Board/Page/trial.js"
};
static const unsigned char views_js[] = {
#embed "../Board/Page/views.js"
};
static const unsigned char wall_js[] = {
#embed "../Board/Page/wall.js"
};
static const unsigned char widgets_js[] = {
#embed "../Board/Page/widgets.js"
};
static const unsigned char channel_js[] = {
#embed "../../../clients/javascript/src/channel.js"
};
static const unsigned char follow_js[] = {
#embed "../../../clients/javascript/src/follow.js"
};
static const unsigned char gateway_js[] = {
#embed "../../../clients/javascript/src/gateway.js"
};
static const unsigned char servertime_js[] = {
#embed "../../../clients/javascript/src/servertime.js"
};
static const unsigned char shared_js[] = {
#embed "../../../clients/javascript/src/shared.js"
};
static const unsigned char sse_js[] = {
#embed "../../../clients/javascript/src/sse.js"
};
static const unsigned char stream_js[] = {
#embed "../../../clients/javascript/src/stream.js"
};
static const unsigned char tabs_js[] = {
#embed "../../../clients/javascript/src/tabs.js"
};
static const unsigned char telltale_js[] = {
#embed "../../../clients/javascript/src/telltale.js"
};
static const unsigned char bistro_order_json[] = {
#embed "../../../../Protocols/Kinds/examples/bistro-order.json"
};
static const unsigned char cancel_order_json[] = {
#embed "../../../../Protocols/Kinds/examples/cancel-order.json"
};
static const unsigned char coffee_order_json[] = {
#embed "../../../../Protocols/Kinds/examples/coffee-order.json"
};
static const unsigned char coffee_tip_json[] = {
#embed "../../../../Protocols/Kinds/examples/coffee-tip.json"
};
static const unsigned char flight_json[] = {
#embed "../../../../Protocols/Kinds/examples/flight.json"
};
static const unsigned char leave_at_door_json[] = {
#embed "../../../../Protocols/Kinds/examples/leave-at-door.json"
};
static const unsigned char log_coffee_json[] = {
#embed "../../../../Protocols/Kinds/examples/log-coffee.json"
};
static const unsigned char parcel_json[] = {
#embed "../../../../Protocols/Kinds/examples/parcel.json"
};
static const unsigned char porch_light_json[] = {
#embed "../../../../Protocols/Kinds/examples/porch-light.json"
};
static const unsigned char store_open_json[] = {
#embed "../../../../Protocols/Kinds/examples/store-open.json"
};
static const unsigned char openapi_json[] = {
#embed "../../../../Protocols/HTTP/openapi.json"
};

#define FILE_OF(name, bytes) {name, bytes, sizeof bytes}

static const struct telltale_gateway_file files[] = {
    FILE_OF("page.html", page_html),
    FILE_OF("showcase.html", showcase_html),
    FILE_OF("icon.svg", icon_svg),
    FILE_OF("base.css", base_css),
    FILE_OF("board.css", board_css),
    FILE_OF("devices.css", devices_css),
    FILE_OF("diagram.css", diagram_css),
    FILE_OF("elements.css", elements_css),
    FILE_OF("playground.css", playground_css),
    FILE_OF("showcase.css", showcase_css),
    FILE_OF("views.css", views_css),
    FILE_OF("widgets.css", widgets_css),
    FILE_OF("api.js", api_js),
    FILE_OF("arrange.js", arrange_js),
    FILE_OF("board.js", board_js),
    FILE_OF("boards.js", boards_js),
    FILE_OF("cards.js", cards_js),
    FILE_OF("clock.js", clock_js),
    FILE_OF("controls.js", controls_js),
    FILE_OF("devices.js", devices_js),
    FILE_OF("diagram.js", diagram_js),
    FILE_OF("dom.js", dom_js),
    FILE_OF("editor.js", editor_js),
    FILE_OF("elements.js", elements_js),
    FILE_OF("events.js", events_js),
    FILE_OF("examples.js", examples_js),
    FILE_OF("home.js", home_js),
    FILE_OF("icons.js", icons_js),
    FILE_OF("kinds.js", kinds_js),
    FILE_OF("link.js", link_js),
    FILE_OF("machine.js", machine_js),
    FILE_OF("main.js", main_js),
    FILE_OF("picker.js", picker_js),
    FILE_OF("places.js", places_js),
    FILE_OF("playground.js", playground_js),
    FILE_OF("screens.js", screens_js),
    FILE_OF("share.js", share_js),
    FILE_OF("showcase.js", showcase_js),
    FILE_OF("signin.js", signin_js),
    FILE_OF("symbols.js", symbols_js),
    FILE_OF("timeline.js", timeline_js),
    FILE_OF("trial.js", trial_js),
    FILE_OF("views.js", views_js),
    FILE_OF("wall.js", wall_js),
    FILE_OF("widgets.js", widgets_js),
    FILE_OF("channel.js", channel_js),
    FILE_OF("follow.js", follow_js),
    FILE_OF("gateway.js", gateway_js),
    FILE_OF("servertime.js", servertime_js),
    FILE_OF("shared.js", shared_js),
    FILE_OF("sse.js", sse_js),
    FILE_OF("stream.js", stream_js),
    FILE_OF("tabs.js", tabs_js),
    FILE_OF("telltale.js", telltale_js),
    FILE_OF("bistro-order.json", bistro_order_json),
    FILE_OF("cancel-order.json", cancel_order_json),
    FILE_OF("coffee-order.json", coffee_order_json),
    FILE_OF("coffee-tip.json", coffee_tip_json),
    FILE_OF("flight.json", flight_json),
    FILE_OF("leave-at-door.json", leave_at_door_json),
    FILE_OF("log-coffee.json", log_coffee_json),
    FILE_OF("parcel.json", parcel_json),
    FILE_OF("porch-light.json", porch_light_json),
    FILE_OF("store-open.json", store_open_json),
};

size_t telltale_gateway_file_count(void) { return sizeof files / sizeof *files; }

struct telltale_gateway_file telltale_gateway_file_at(size_t index) {
    struct telltale_gateway_file none = {"", 0, 0};
    return index < telltale_gateway_file_count() ? files[index] : none;
}

struct telltale_gateway_file telltale_gateway_openapi(void) {
    struct telltale_gateway_file document = FILE_OF("openapi.json", openapi_json);
    return document;
}
