/** The engine's thread on the caller's own thread: for commands that look at a database through a disk which a worker could not have. */
import type { Disk } from "../platform/disk.ts";
import type { WorkerEvents, WorkerHandle } from "../platform/worker.ts";
import { EngineCore } from "./engine_core.ts";
import { EngineThread, type StartCore } from "./engine_thread.ts";
import type { EngineRequest } from "./messages.ts";

/** What SqlEngine takes as `spawn`. `startCore`: how the core is started, if not plainly on `disk`. */
export function spawnInProcess(
  disk: Disk,
  startCore: StartCore = (settings, fence) => EngineCore.start(disk, settings, fence),
): (events: WorkerEvents) => WorkerHandle {
  return (events) => {
    let isOver = false;
    const later = (action: () => void) => void setImmediate(() => isOver || action());
    const thread = new EngineThread(startCore, (reply) => later(() => events.message(reply)));
    return {
      post: (message) => later(() => void thread.receive(message as EngineRequest)),
      terminate: () => {
        isOver = true;
      },
    };
  };
}
