/** ListPartitionReassignments (46), version 0: with one node nothing is ever being moved. */
import type { ListPartitionReassignmentsRequest } from "../../protocol/generated/list_partition_reassignments_request.ts";
import type { ListPartitionReassignmentsResponse } from "../../protocol/generated/list_partition_reassignments_response.ts";
import { handler } from "../handler.ts";

export const listPartitionReassignments = handler<
  ListPartitionReassignmentsRequest,
  ListPartitionReassignmentsResponse
>(46, () => ({ throttleTimeMs: 0, errorCode: 0, errorMessage: null, topics: [] }));
