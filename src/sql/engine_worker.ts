/** The engine's thread: EngineThread behind the port of this worker, on the real disk. */
import { nodeDisk } from "../platform/node_disk.ts";
import { workerPort } from "../platform/worker.ts";
import { EngineCore } from "./engine_core.ts";
import { EngineThread } from "./engine_thread.ts";
import type { EngineRequest } from "./messages.ts";

const send = workerPort((message) => void thread.receive(message as EngineRequest));
const thread = new EngineThread((settings, fence) => EngineCore.start(nodeDisk(), settings, fence), send);
