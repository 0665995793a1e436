/**
 * LeaveGroup (13), versions 0 to 5 (case C39): up to version 2 one member and one error for the whole request, from 3 one row
 * per requested member.
 */
import type { LeaveGroupRequest } from "../../../protocol/generated/leave_group_request.ts";
import type { LeaveGroupResponse } from "../../../protocol/generated/leave_group_response.ts";
import { handler } from "../../handler.ts";

export const leaveGroup = handler<LeaveGroupRequest, LeaveGroupResponse>(13, (request, { apiVersion, services }) => {
  const single = [{ memberId: request.memberId, groupInstanceId: null, reason: null }];
  const { errorCode, members } = services.groups.leaveGroup(
    request.groupId,
    apiVersion <= 2 ? single : request.members,
  );
  if (apiVersion > 2) return { throttleTimeMs: 0, errorCode, members };
  return { throttleTimeMs: 0, errorCode: errorCode || (members[0]?.errorCode ?? 0), members: [] };
});
