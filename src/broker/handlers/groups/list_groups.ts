/** ListGroups (16), versions 0 to 5: from 4 filtered by state, from 5 by type. */
import type { ListGroupsRequest } from "../../../protocol/generated/list_groups_request.ts";
import type { ListGroupsResponse } from "../../../protocol/generated/list_groups_response.ts";
import { handler } from "../../handler.ts";

export const listGroups = handler<ListGroupsRequest, ListGroupsResponse>(16, (request, { services }) =>
  services.groups.listGroups(request),
);
