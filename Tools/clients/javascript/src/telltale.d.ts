/** Types of the module `telltale.js`. README.md has examples. */

/** `full` is the whole state; the others are what a surface shows. */
export type View = "full" | Surface;
export type Surface = "phone" | "pad" | "watch" | "carplay" | "desktop" | "standby" | "vision";
export type Placement =
    | "controlCenterSmall" | "controlCenterMedium" | "controlCenterLarge" | "lockScreen" | "actionButton" | "actionButtonHold"
    | "menuBar" | "smartStack" | "gallery";

/** Who looks, by which device. */
export interface Situation {
    surface?: Surface;
    account?: string;
    /** For example `{ luminance: "reduced" }`. */
    traits?: Readonly<Record<string, string>>;
    /** Shows widgets, and tiles of boards, to patterns of everything. */
    caps?: "widgets";
}

export interface Options extends Situation {
    /** A token, or what gives one. It is asked for when the gateway wants one, and again when that has ended. */
    token?: string | (() => string | Promise<string>);
    /**
     * The tabs of a browser share one stream. `false` gives each its own, as does a token; a text shares it among the tabs that
     * give the same text, which are one person's.
     */
    tabs?: string | false;
    timing?: Partial<Timing>;
    /** Sends the requests in place of the platform's `fetch`: `sharedReads()` of `shared.js`, for example. */
    fetch?: typeof fetch;
}

/** In milliseconds. */
export interface Timing {
    /** The pause before the first attempt to connect again, and the longest: 100 and 10,000. */
    first: number;
    longest: number;
    /** A stream that says nothing for so long is given up: 45,000. */
    silence: number;
    /** How long a request is repeated: 30,000. */
    timeout: number;
    /** A page that is hidden for so long lets its stream go: 30,000. */
    hidden: number;
}

/** What is drawn. Its members depend on the view and the kind: Protocols/Surfaces. */
export type Body = Readonly<Record<string, any>>;

export interface Row {
    readonly key: string;
    readonly rev: number;
    readonly row: Body;
}

export type Change =
    | (Row & {
        readonly type: "row";
        /** It belongs to the first picture. */
        readonly snap?: boolean;
        /** Commits that were folded into it. */
        readonly skip?: number;
        /** `date`: the same row, whose picture is another one now. `tap`: what a tap wants, or that it was refused. */
        readonly why?: string;
    })
    | { readonly type: "gone"; readonly key: string; readonly rev?: number; readonly why?: string }
    /** The picture is whole: the rows are those of now. */
    | { readonly type: "live" }
    /** The connection is lost: the rows are old, until `live`. */
    | { readonly type: "lost" }
    /** A new picture follows. A key that it does not bring is reported as gone before `live`. */
    | { readonly type: "reset"; readonly why: string }
    | { readonly type: "alert"; readonly key: string; readonly rev: number; readonly title?: string; readonly body?: string; readonly [member: string]: unknown }
    | { readonly type: "milestone"; readonly key: string; readonly rev: number; readonly state: string; readonly at: number };

/** The last change that a callback receives. An iteration throws the error instead. */
export interface End {
    readonly type: "end";
    readonly error: TelltaleError;
}

export interface FollowOptions extends Situation {
    view?: View;
    placement?: Placement;
    /** Resumes behind the change after which `Follow.cursor` had this value. */
    cursor?: string | null;
}

export interface Follow extends AsyncIterable<Change> {
    /** The newest row of each key, as far as the changes were taken. */
    readonly rows: ReadonlyMap<string, Row>;
    readonly cursor: string | null;
    readonly isCurrent: boolean;
    close(): void;
}

export interface EventOptions {
    attributes?: Record<string, unknown>;
    /** The member `content-state`. */
    content?: Record<string, unknown>;
    alert?: { title?: string; body?: string; sound?: string };
    /** The event's other members. */
    data?: Record<string, unknown>;
    /** Whose devices may show it, told when it starts. */
    accounts?: string | string[];
    /** When it happened, in Unix ms. */
    at?: number;
    /** The sender's version of this key. */
    ver?: number;
    /** The event takes effect once under this id, also after a restart of the program. */
    eid?: string;
    timeout?: number;
}

export interface Taken {
    readonly key: string;
    readonly verdict: string;
    readonly rev: number;
    readonly state?: string;
    readonly msg?: string;
}

export interface Operation {
    readonly op?: string;
    readonly result?: "confirmed" | "reverted" | "superseded";
    readonly reason?: string;
    readonly phase?: string;
    readonly rev?: number;
    readonly message?: string;
}

export class TelltaleError extends Error {
    /** The server's (`GET /errors`), or `invalid`, `timed_out`, `no_gateway`, `no_token`. */
    readonly code: string;
    /** That of HTTP; 0 where there was no answer. */
    readonly status: number;
    /** The same request will be refused again. */
    readonly isFinal: boolean;
    readonly retry?: "no" | "now" | "later" | "auth" | "resync";
    /** The id to repeat the request with. */
    readonly eid?: string;
    /** Of `stale_rev`: the rev that the tap named, and that of now. */
    readonly want?: number;
    readonly have?: number;
}

export class Telltale {
    private constructor();
    now(): number;
    follow(pattern: string, options?: FollowOptions): Follow;
    follow(pattern: string, call: (change: Change | End, follow: Follow) => void): Follow;
    follow(pattern: string, options: FollowOptions, call: (change: Change | End, follow: Follow) => void): Follow;
    post(key: string, type: string, options?: EventOptions): Promise<Taken>;
    get(key: string, options?: Situation & { view?: View }): Promise<Row>;
    list(pattern?: string, options?: Situation & { view?: View }): Promise<Row[]>;
    set(key: string, isOn: boolean, options?: Situation & { ifRev?: number; eid?: string }): Promise<Operation>;
    press(key: string, options?: Situation & { eid?: string }): Promise<Operation>;
    dismiss(key: string, options?: Situation): Promise<unknown>;
    close(): void;
}

export function connect(addresses?: string | string[], options?: Options): Telltale;

/** The entry of a widget's row that is shown at a moment. */
export function entryAt(row: Body, now: number): Body | null;
/** The dates at which the picture of a row is another one. */
export function datesOf(row: Body): number[];
