// Asking the service. Whoever is not answered learns it as a LostError.

export const visitor = Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) =>
    b.toString(16).padStart(2, "0")).join("");

export class LostError extends Error {}

export class RefusedError extends Error {}

export async function call(method, path, body = null) {
    const raw = body instanceof Blob;
    let reply;
    try {
        reply = await fetch(path, {
            method: method,
            headers: body && !raw ? { "Content-Type": "application/json" } : {},
            body: raw ? body : body && JSON.stringify(body),
        });
    } catch {
        throw new LostError("The server does not answer. Start it again; this page then goes on.");
    }
    if (reply.status === 204) {
        return null; // nothing to tell: overtaken, or no further step
    }
    const answer = await reply.json();
    if (!reply.ok) {
        throw new RefusedError(answer.detail || `The server answered ${reply.status}.`);
    }
    return answer;
}

// Ask about a job until it ends; `show` gets each status.
export async function watch(status, show, wanted) {
    let progress = status.progress;
    while (wanted()) { // asked after each answer: another job may have begun meanwhile
        progress = status.progress || progress;
        show({ ...status, progress: progress });
        if (status.state !== "running") {
            return;
        }
        await new Promise((resolve) => setTimeout(resolve, 300));
        status = await call("GET", `/api/jobs/${status.key}?seen=${status.step}`);
    }
}
