// Asking the service, which answers in lines of JSON. Whoever is not answered learns it as a LostError.

export class LostError extends Error {}

function lose(error) {
    throw error.name === "AbortError" ? error : new LostError("The server does not answer. Start it again; this page then goes on.");
}

// Hand each line of an answer to `show` as it comes. To abort ends the work too.
export async function stream(method, path, body, signal, show) {
    const options = body instanceof Blob ? { body } : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
    const reply = await fetch(path, { method, signal, ...options }).catch(lose);
    if (!reply.ok) {
        const { detail } = await reply.json().catch(() => ({}));
        throw new Error(detail || `The server answered ${reply.status}.`);
    }
    const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (let part = await reader.read().catch(lose); !part.done; part = await reader.read().catch(lose)) {
        const lines = (rest + part.value).split("\n");
        rest = lines.pop();
        for (const line of lines.map((text) => JSON.parse(text))) {
            if (line.error) {
                throw new Error(line.error);
            }
            show(line);
        }
    }
}
