// A kind file and its steps in the fragment of a link, which no server is sent.

/** What a link may hold, in bytes of JSON. */
const MOST = 300_000;

async function squeeze(bytes, stream) {
    const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
    const parts = [];
    for (let size = 0; ;) {
        const { done, value } = await reader.read();
        if (done) return new Blob(parts).arrayBuffer();
        size += value.length;
        if (size > MOST) {
            await reader.cancel().catch(() => {});
            throw new RangeError("the link holds too much");
        }
        parts.push(value);
    }
}

/** The fragment for a file and its steps. */
export async function pack(file, steps) {
    const bytes = new Uint8Array(await squeeze(new TextEncoder().encode(JSON.stringify({ file, steps })), new CompressionStream("deflate-raw")));
    let text = "";
    for (let start = 0; start < bytes.length; start += 8192) text += String.fromCharCode(...bytes.subarray(start, start + 8192));
    return `#file=${btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** What a fragment names: `{file, steps}`, `{kind}` of the daemon, `{example}`, or null. */
export async function unpack(fragment) {
    const query = new URLSearchParams(fragment.replace(/^#/, ""));
    for (const name of ["kind", "example"]) if (query.get(name)) return { [name]: query.get(name) };
    const packed = query.get("file");
    if (!packed) return null;
    try {
        const bytes = Uint8Array.from(atob(packed.replaceAll("-", "+").replaceAll("_", "/")), one => one.charCodeAt(0));
        const data = JSON.parse(new TextDecoder().decode(await squeeze(bytes, new DecompressionStream("deflate-raw"))));
        if (typeof data?.file !== "string") return null;
        const steps = Array.isArray(data.steps) ? data.steps.filter(one => one !== null && typeof one === "object").slice(0, 500) : [];
        return { file: data.file, steps };
    } catch {
        return { broken: true };
    }
}
