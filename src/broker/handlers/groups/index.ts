/** The handlers of the group APIs. */
import type { Handler } from "../../handler.ts";
import { deleteGroups } from "./delete_groups.ts";
import { describeGroups } from "./describe_groups.ts";
import { heartbeat } from "./heartbeat.ts";
import { joinGroup } from "./join_group.ts";
import { leaveGroup } from "./leave_group.ts";
import { listGroups } from "./list_groups.ts";
import { offsetCommit } from "./offset_commit.ts";
import { offsetDelete } from "./offset_delete.ts";
import { offsetFetch } from "./offset_fetch.ts";
import { syncGroup } from "./sync_group.ts";

// biome-ignore lint/suspicious/noExplicitAny: each handler has its own types; the dispatcher pairs them by API key.
export const groupHandlers: Handler<any, any>[] = [
  offsetCommit,
  offsetFetch,
  joinGroup,
  heartbeat,
  leaveGroup,
  syncGroup,
  describeGroups,
  listGroups,
  deleteGroups,
  offsetDelete,
];
