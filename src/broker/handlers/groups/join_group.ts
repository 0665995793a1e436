/**
 * JoinGroup (11), versions 0 to 9. The answer comes when the rebalance is over: up to the group's rebalance timeout later.
 * A connection that closes meanwhile does not withdraw the member: its session does, as in Kafka.
 */
import type { JoinGroupRequest } from "../../../protocol/generated/join_group_request.ts";
import type { JoinGroupResponse } from "../../../protocol/generated/join_group_response.ts";
import { handler } from "../../handler.ts";

export const joinGroup = handler<JoinGroupRequest, JoinGroupResponse>(11, (request, context) =>
  context.services.groups.joinGroup(request, context),
);
