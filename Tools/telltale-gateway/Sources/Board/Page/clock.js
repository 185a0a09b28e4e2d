// The server's clock, and every text on the page that counts.

/** The dates in rows are on the server's clock, which a client of it knows. A demonstration may hold it. */
class Clock {
    #source = Date;
    #held = null;

    /** Shows the time of a client, or of what else has a `now`. */
    follow(source) { this.#source = source; }

    get isHeld() { return this.#held !== null; }

    /** Time stands still at a moment. */
    hold(at) { this.#held = at; }

    /** Unix milliseconds. */
    now() { return this.#held ?? this.#source.now(); }
}

export const clock = new Clock();

/** What is left until a date, as a screen counts it: 4:05, 1:02:03. What has passed is 0:00. */
export function countdown(until, now) {
    const seconds = Math.max(0, Math.ceil((until - now) / 1000));
    const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
    const two = number => String(number).padStart(2, "0");
    if (hours >= 100) return `${Math.floor(hours / 24)} d`;
    return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/** How long ago, in one unit. */
export function ago(then, now) {
    const seconds = Math.max(0, Math.round((now - then) / 1000));
    if (seconds < 60) return `${seconds} s ago`;
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
    if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
    return `${Math.floor(seconds / 86_400)} d ago`;
}

const hour = new Intl.DateTimeFormat("en-GB", { hour: "numeric", minute: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { weekday: "long", day: "numeric", month: "long" });
const exact = new Intl.DateTimeFormat("en-GB", {
    hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3,
});

/** What a clock of a device shows: "hour" or "day". */
export function faceText(face) { return (face === "day" ? day : hour).format(clock.isHeld ? clock.now() : Date.now()); }

/** The time of day, to the millisecond. */
export function timeText(at) { return exact.format(at); }

/**
 * Renews every text that counts, each second. `data-timer` is a date to count down to, `data-ago` one that has passed.
 * A card out of sight, of the class `away`, is left as it is: the texts of a thousand would be written for no eye.
 */
export function tick(root = document) {
    const now = clock.now();
    const put = (element, text) => { if (element.textContent !== text && !element.closest(".away")) element.textContent = text; };
    for (const element of root.querySelectorAll("[data-timer]")) put(element, countdown(+element.dataset.timer, now));
    for (const element of root.querySelectorAll("[data-ago]")) put(element, ago(+element.dataset.ago, now));
    for (const element of root.querySelectorAll("[data-clock]")) put(element, faceText(element.dataset.clock));
}

export function startTicking() {
    tick();
    setInterval(tick, 1000);
}
