/** DeleteGroups (42), versions 0 to 3: groups without members, with all their offsets. */
import type { DeleteGroupsRequest } from "../../../protocol/generated/delete_groups_request.ts";
import type { DeleteGroupsResponse } from "../../../protocol/generated/delete_groups_response.ts";
import { handler } from "../../handler.ts";

export const deleteGroups = handler<DeleteGroupsRequest, DeleteGroupsResponse>(42, (request, { services }) =>
  services.groups.deleteGroups(request.groupsNames),
);
