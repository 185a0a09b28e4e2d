// Server-sent events (HTML Standard, "Interpreting an event stream").

/** Takes a stream's text in pieces of any size, and returns the events that are whole. An event has an `id` if it brought one. */
export class EventParser {
    #rest = "";
    #name = "";
    #data = null;
    #id = null;

    /** @returns {{name: string, data: string, id: string|null}[]} */
    push(text) {
        // A carriage return at the end of a piece may be half of a line break.
        const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
        this.#rest = lines.pop();
        return lines.map(line => this.#line(line)).filter(Boolean);
    }

    #line(line) {
        if (line === "") {
            const event = this.#data === null ? null : { name: this.#name || "message", data: this.#data, id: this.#id };
            this.#name = "";
            this.#data = this.#id = null;
            return event;
        }
        const [, field, value] = /^([^:]*)(?:: ?(.*))?$/s.exec(line);
        if (field === "data") this.#data = this.#data === null ? value ?? "" : `${this.#data}\n${value ?? ""}`;
        else if (field === "event") this.#name = value ?? "";
        else if (field === "id" && !value?.includes("\0")) this.#id = value ?? "";
        return null;
    }
}
