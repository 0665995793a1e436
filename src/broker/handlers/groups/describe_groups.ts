/**
 * DescribeGroups (15), versions 0 to 6: an unknown group is "Dead", from version 6 with GROUP_ID_NOT_FOUND (KIP-1043).
 */
import { errorCodes } from "../../../base/kafka_error.ts";
import type { DescribeGroupsRequest } from "../../../protocol/generated/describe_groups_request.ts";
import type { DescribeGroupsResponse } from "../../../protocol/generated/describe_groups_response.ts";
import { groupOperations, unaskedOperations } from "../../authorized_operations.ts";
import { handler } from "../../handler.ts";

export const describeGroups = handler<DescribeGroupsRequest, DescribeGroupsResponse>(15, (request, context) => {
  const groups = request.groups.map((groupId) => {
    const described = context.services.groups.describeGroup(groupId);
    if (described.groupState === "Dead" && context.apiVersion >= 6) {
      const errorMessage = `Group ${groupId} not found.`;
      return { ...described, errorCode: errorCodes.GROUP_ID_NOT_FOUND, errorMessage };
    }
    const asked = request.includeAuthorizedOperations && described.errorCode === 0;
    return { ...described, authorizedOperations: asked ? groupOperations : unaskedOperations };
  });
  return { throttleTimeMs: 0, groups };
});
