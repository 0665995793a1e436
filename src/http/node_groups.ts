/** GroupService of the HTTP routes over a node's group coordinator: the lag is what the logs have beyond the commit. */
import type { Services } from "../broker/handler.ts";
import type { GroupDetail, GroupService } from "./services.ts";

type Node = Pick<Services, "groups" | "catalog" | "topics">;

export function nodeGroups(node: Node): GroupService {
  return {
    list: () =>
      node.groups.list().map(({ groupId, state, protocolType, members }) => ({
        group_id: groupId,
        state,
        protocol_type: protocolType,
        members,
      })),
    get(id) {
      const group = node.groups.describe(id);
      if (!group) return undefined;
      const offsets = group.offsets.map(({ topic, partition, offset, metadata }): GroupDetail["offsets"][number] => {
        const entry = node.catalog.topic(topic);
        const end = entry && partition < entry.partitions ? node.topics.log(entry, partition).highWatermark : null;
        const committed = Number(offset);
        return {
          topic,
          partition,
          committed_offset: committed,
          log_end_offset: end,
          lag: end === null ? null : Math.max(0, end - committed),
          metadata: metadata === "" ? null : metadata,
        };
      });
      return {
        group_id: group.groupId,
        state: group.state,
        protocol_type: group.protocolType,
        protocol: group.protocol,
        members: group.members.map(({ memberId, groupInstanceId, clientId, clientHost, assignment }) => ({
          member_id: memberId,
          instance_id: groupInstanceId,
          client_id: clientId,
          host: clientHost,
          assignments: assignment ?? [],
        })),
        offsets,
        total_lag: offsets.reduce((sum, { lag }) => sum + (lag ?? 0), 0),
      };
    },
  };
}
