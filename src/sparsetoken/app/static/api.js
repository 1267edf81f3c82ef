// Asking the service, which answers in lines of JSON. Whoever is not answered learns it as a LostError.

export class LostError extends Error {}

async function request(method, path, options) {
    let reply;
    try {
        reply = await fetch(path, { method: method, ...options });
    } catch (error) {
        throw error.name === "AbortError" ? error : new LostError("The server does not answer. Start it again; this page then goes on.");
    }
    if (!reply.ok) {
        const { detail } = await reply.json().catch(() => ({}));
        throw new Error(detail || `The server answered ${reply.status}.`);
    }
    return reply;
}

export async function get(path) {
    return (await request("GET", path, {})).json();
}

// Hand each line of an answer to `show` as it comes. To abort ends the work too.
export async function stream(method, path, body, signal, show) {
    const options = body instanceof Blob ? { body: body } : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
    const reply = await request(method, path, { ...options, signal: signal });
    const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
        const { done, value } = await reader.read().catch((error) => {
            throw error.name === "AbortError" ? error : new LostError("The server has stopped answering. Start it again; this page then goes on.");
        });
        if (done) {
            return;
        }
        const lines = (rest + value).split("\n");
        rest = lines.pop();
        for (const line of lines.map((text) => JSON.parse(text))) {
            if (line.error) {
                throw new Error(line.error);
            }
            show(line);
        }
    }
}
