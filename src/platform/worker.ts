/**
 * Worker threads, the same in Bun and Deno: a Web Worker made from a module URL. In a compiled executable the worker is an
 * extra entry point (`scripts/build.ts`) and the URL resolves inside the executable.
 */

/** The main thread's end of a worker. Messages are structured clones; `transfer` moves buffers instead of copying them. */
export interface WorkerHandle {
  post(message: unknown, transfer?: ArrayBuffer[]): void;
  /** Stops the thread at once, whatever it is doing. Safe to call twice. */
  terminate(): void;
}

export interface WorkerEvents {
  message(message: unknown): void;
  /** The thread died or could not start. Called at most once, and not after `terminate`. */
  died(reason: string): void;
}

/** Starts `url` (as `new URL("./x_worker.ts", import.meta.url)` gives it) on a thread of its own. */
export function spawnWorker(url: URL, events: WorkerEvents): WorkerHandle {
  const worker = new Worker(workerUrl(url), { type: "module" });
  let over = false;
  const die = (reason: string) => {
    if (over) return;
    over = true;
    worker.terminate();
    events.died(reason);
  };
  worker.onmessage = (event: MessageEvent) => {
    if (!over) events.message(event.data);
  };
  worker.onerror = (event: ErrorEvent) => {
    // Deno would end the whole process over an error event that nobody handles.
    event.preventDefault?.();
    die(event.message || "the worker thread failed");
  };
  worker.onmessageerror = () => die("a message from the worker thread could not be read");
  // Bun's own event: the thread has ended.
  worker.addEventListener("close", () => die("the worker thread ended"));
  return {
    post(message, transfer) {
      if (!over) worker.postMessage(message, transfer ?? []);
    },
    terminate() {
      if (over) return;
      over = true;
      worker.terminate();
    },
  };
}

/** The worker's end: takes messages from, and posts to, the thread that started it. */
export function workerPort(received: (message: unknown) => void): (message: unknown, transfer?: ArrayBuffer[]) => void {
  const scope = globalThis as unknown as {
    onmessage: ((event: { data: unknown }) => void) | null;
    postMessage(message: unknown, transfer?: ArrayBuffer[]): void;
  };
  scope.onmessage = (event) => received(event.data);
  return (message, transfer) => scope.postMessage(message, transfer ?? []);
}

/** `scripts/build.ts` puts all entry points side by side in the executable, as JavaScript. */
function workerUrl(url: URL): string {
  if (!url.pathname.startsWith("/$bunfs/")) return url.href;
  return url.href.replace(/\.ts$/, ".js");
}
