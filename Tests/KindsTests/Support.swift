import Kinds
import TelltaleModel

/// A kind without a fault or a doubt, that tests change in one place each.
let goodKind: JSON = [
    "kind": "order", "type": "activity", "version": 1, "app": "com.example", "title": "Order", "stale": "10m",
    "machine": [
        "initial": "placed",
        "states": [
            "placed": ["on": ["confirm": "brewing"]],
            "brewing": ["on": ["ready": "done"]],
            "done": ["type": "final"],
        ],
    ],
    "views": [
        "compact": ["leading": ["symbol": "cup"], "trailing": ["text": "{{state.title}}"]],
        "minimal": ["symbol": "cup"],
        "lockScreen": ["title": "{{state.title}}", "progress": true],
        "expanded": ["bottom": ["progress": true]],
    ],
]

let goodToggle: JSON = [
    "kind": "light", "type": "toggle", "version": 1, "app": "com.example", "title": "Light",
    "symbol": ["on": "lightbulb.fill", "off": "lightbulb"],
]

let goodButton: JSON = [
    "kind": "tip", "type": "button", "version": 1, "app": "com.example", "title": "Tip", "symbol": "gift",
    "raises": ["kind": "order", "event": "confirm"],
]

/// A kind of widget without a fault or a doubt.
let goodWidget: JSON = [
    "kind": "sales", "type": "widget", "version": 1, "app": "com.example", "title": "Sales",
    "description": "See what was sold", "families": ["systemSmall", "accessoryRectangular"],
    "parameters": ["shop": ["title": "Shop"]],
    "views": [
        "systemSmall": ["symbol": "cup", "title": "{{content.sold}} sold", "subtitle": "{{config.shop}}"],
        "accessoryRectangular": ["text": "{{content.sold}}"],
    ],
    "preview": ["content": ["sold": 7]],
]

/// A kind of widget of many activities, without a fault or a doubt.
let goodAggregate: JSON = goodWidget.merging([
    "source": [
        "over": "order", "by": ["shop": "attributes.shop"], "where": "lifecycle != 'ended'",
        "values": ["sold": ["tally": "attributes.price", "on": "collected", "per": "day", "zone": "+09:00"]],
    ],
    "audience": "all",
    "views": [
        "systemSmall": ["title": "{{values.sold}} sold"], "accessoryRectangular": ["text": "{{values.sold}}"],
    ],
    "preview": ["content": .null, "values": ["sold": 7]],
])

/// A kind of widget of each activity, without a fault or a doubt.
let goodMember: JSON = goodWidget.merging([
    "parameters": .null, "source": ["each": "order"],
    "views": ["systemSmall": ["title": "{{content.sold}} sold", "subtitle": "{{state.title}}"]],
])

func json(_ text: String) throws -> JSON { try JSONParser.parse(text) }

func context(
    attributes: JSON = [:], content: JSON = [:], progress: Double? = nil, title: String = "In the queue"
) -> TemplateContext {
    guard let key = Key(kind: "order", id: "1042") else { fatalError("not a key") }
    return TemplateContext(
        key: key, attributes: attributes, content: content, stateKey: "queued",
        stateTitle: title, progress: progress)
}
