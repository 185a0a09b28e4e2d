// Server-sent events (HTML Standard, "Interpreting an event stream").

/** Takes a stream's text in pieces of any size, and returns the events that are whole. An event has an `id` if it brought one. */
export class EventParser {
    #rest = "";
    #isCut = false;
    #name = "";
    #data = null;
    #id = null;

    /** @returns {{name: string, data: string, id: string|null}[]} */
    push(text) {
        // A carriage return and a line feed are one line break, also in two pieces.
        const lines = (this.#rest + (this.#isCut ? text.replace(/^\n/, "") : text)).split(/\r\n?|\n/);
        if (text) this.#isCut = text.endsWith("\r");
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
