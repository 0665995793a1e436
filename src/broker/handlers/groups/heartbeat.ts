/** Heartbeat (12), versions 0 to 4. */
import type { HeartbeatRequest } from "../../../protocol/generated/heartbeat_request.ts";
import type { HeartbeatResponse } from "../../../protocol/generated/heartbeat_response.ts";
import { handler } from "../../handler.ts";

export const heartbeat = handler<HeartbeatRequest, HeartbeatResponse>(12, (request, { services }) =>
  services.groups.heartbeat(request),
);
