/** SyncGroup (14), versions 0 to 5. The answer comes when the leader's assignment is stored. */
import type { SyncGroupRequest } from "../../../protocol/generated/sync_group_request.ts";
import type { SyncGroupResponse } from "../../../protocol/generated/sync_group_response.ts";
import { handler } from "../../handler.ts";

export const syncGroup = handler<SyncGroupRequest, SyncGroupResponse>(14, (request, context) =>
  context.services.groups.syncGroup(request, context),
);
