/** Cases about groups of the classic protocol, and about what they commit. */
import { Buffer } from "node:buffer";
import { asks, type Case, inTurn, makeTopic } from "./case.ts";
import { type Peer, versionsOf } from "./peer.ts";

const protocols = [{ name: "range", metadata: Buffer.from("000100000000ffffffff", "hex") }];

function join(groupId: string, fields: object = {}) {
  return {
    groupId,
    sessionTimeoutMs: 10_000,
    rebalanceTimeoutMs: 500,
    memberId: "",
    protocolType: "consumer",
    protocols,
    ...fields,
  };
}

/** Joins as the only member and syncs; gives the member's id. */
async function aloneIn(peer: Peer, groupId: string): Promise<string> {
  const { memberId } = await peer.raw("JoinGroup", 5, join(groupId));
  await peer.raw("JoinGroup", 5, join(groupId, { memberId }));
  const assignments = [{ memberId, assignment: Buffer.from("assigned") }];
  await peer.raw("SyncGroup", 5, {
    groupId,
    generationId: 1,
    memberId,
    protocolType: "consumer",
    protocolName: "range",
    assignments,
  });
  return memberId;
}

const noError = "Kafka's message for success is NONE";

export const groupCases: Case[] = [
  {
    name: "FindCoordinator",
    run: (peer) =>
      asks(
        peer,
        ["FindCoordinator", 0, { key: `${peer.prefix}g` }],
        ["FindCoordinator", 3, { key: `${peer.prefix}g`, keyType: 0 }],
        ["FindCoordinator", 3, { key: `${peer.prefix}g`, keyType: 9 }],
        ["FindCoordinator", 4, { keyType: 0, coordinatorKeys: [`${peer.prefix}g`, `${peer.prefix}h`] }],
        ["FindCoordinator", 6, { keyType: 0, coordinatorKeys: [] }],
        ["FindCoordinator", 6, { keyType: 0, coordinatorKeys: [""] }],
        ["FindCoordinator", 6, { keyType: 9, coordinatorKeys: ["x"] }],
        ["FindCoordinator", 3, { key: "", keyType: 0 }],
      ),
    differs: { 1: noError, 7: noError },
  },
  {
    name: "JoinGroup refused",
    async run(peer) {
      const groupId = `${peer.prefix}g`;
      return asks(
        peer,
        ["JoinGroup", 9, join("")],
        ["JoinGroup", 9, join(groupId, { sessionTimeoutMs: 1 })],
        ["JoinGroup", 9, join(groupId, { sessionTimeoutMs: 100_000_000 })],
        ["JoinGroup", 9, join(groupId, { memberId: "nobody" })],
        ["JoinGroup", 9, join(groupId, { protocols: [] })],
        ["JoinGroup", 9, join(groupId, { protocolType: "" })],
        ["JoinGroup", 9, join(groupId)],
        ["JoinGroup", 5, join(groupId, { groupInstanceId: "static", memberId: "nobody" })],
      );
    },
  },
  {
    name: "One member in every version of JoinGroup",
    async run(peer) {
      return inTurn(
        versionsOf("JoinGroup").map((version) => async () => {
          const groupId = `${peer.prefix}v${version}`;
          const first = await peer.raw("JoinGroup", version, join(groupId));
          if (first.errorCode === 0) return [first.generationId, first.members.length, first.protocolName];
          const second = await peer.ask("JoinGroup", version, join(groupId, { memberId: first.memberId }));
          return [first.errorCode, second];
        }),
      );
    },
  },
  {
    name: "A member that joined: sync, heartbeat, describe, leave",
    async run(peer) {
      const groupId = `${peer.prefix}g`;
      const memberId = await aloneIn(peer, groupId);
      const sync = { groupId, generationId: 1, memberId, protocolType: "consumer", protocolName: "range" };
      const describe = { groups: [groupId, `${peer.prefix}no`, ""] };
      return asks(
        peer,
        ["SyncGroup", 5, sync],
        ["SyncGroup", 5, { ...sync, generationId: 2 }],
        ["SyncGroup", 5, { ...sync, memberId: "nobody" }],
        ["SyncGroup", 5, { ...sync, protocolName: "other" }],
        ["SyncGroup", 5, { ...sync, protocolType: "other" }],
        ["SyncGroup", 4, { ...sync, protocolType: null, protocolName: null }],
        ["SyncGroup", 5, { ...sync, groupId: `${peer.prefix}no` }],
        ["SyncGroup", 5, { ...sync, groupId: "" }],
        ["Heartbeat", 4, { groupId, generationId: 1, memberId }],
        ["Heartbeat", 4, { groupId, generationId: 2, memberId }],
        ["Heartbeat", 4, { groupId, generationId: 1, memberId: "nobody" }],
        ["Heartbeat", 4, { groupId: `${peer.prefix}no`, generationId: 1, memberId }],
        ["Heartbeat", 4, { groupId: "", generationId: 1, memberId }],
        ["Heartbeat", 4, { groupId, generationId: 1, memberId, groupInstanceId: "no" }],
        ["DescribeGroups", 0, describe],
        ["DescribeGroups", 5, describe],
        ["DescribeGroups", 6, describe],
        ["ListGroups", 5, {}],
        ["ListGroups", 5, { statesFilter: ["Stable"] }],
        ["ListGroups", 5, { statesFilter: ["Empty"] }],
        ["ListGroups", 5, { statesFilter: ["nonsense"] }],
        ["ListGroups", 5, { typesFilter: ["classic"] }],
        ["ListGroups", 5, { typesFilter: ["consumer"] }],
        ["ListGroups", 0, {}],
        ["JoinGroup", 5, join(groupId, { protocolType: "connect" })],
        ["JoinGroup", 5, join(groupId, { protocols: [{ name: "other", metadata: Buffer.alloc(0) }] })],
        ["DeleteGroups", 2, { groupsNames: [groupId] }],
        ["LeaveGroup", 5, { groupId, members: [{ memberId: "nobody" }, { memberId: "", groupInstanceId: "no" }] }],
        ["LeaveGroup", 2, { groupId, memberId: "nobody" }],
        ["LeaveGroup", 5, { groupId, members: [] }],
        ["LeaveGroup", 5, { groupId, members: [{ memberId }] }],
        ["LeaveGroup", 5, { groupId: `${peer.prefix}no`, members: [{ memberId }] }],
        ["LeaveGroup", 5, { groupId: "", members: [{ memberId }] }],
        ["DescribeGroups", 5, describe],
        ["Heartbeat", 4, { groupId, generationId: 1, memberId }],
        ["DeleteGroups", 2, { groupsNames: [groupId, `${peer.prefix}no`, ""] }],
        ["DescribeGroups", 5, { groups: [groupId] }],
      );
    },
  },
  {
    name: "LeaveGroup in every version",
    async run(peer) {
      return inTurn(
        versionsOf("LeaveGroup").map((version) => async () => {
          const groupId = `${peer.prefix}v${version}`;
          const memberId = await aloneIn(peer, groupId);
          const fields =
            version < 3 ? { groupId, memberId } : { groupId, members: [{ memberId }, { memberId: "nobody" }] };
          const left = await peer.ask("LeaveGroup", version, fields);
          return [left, await peer.ask("LeaveGroup", version, fields)];
        }),
      );
    },
  },
  {
    name: "A static member",
    async run(peer) {
      const groupId = `${peer.prefix}g`;
      const mine = { groupInstanceId: "one" };
      const first = await peer.raw("JoinGroup", 9, join(groupId, mine));
      const { memberId } = first;
      const assignments = [{ memberId, assignment: Buffer.from("assigned") }];
      const sync = { groupId, generationId: 1, memberId, ...mine, protocolType: "consumer", protocolName: "range" };
      return inTurn([
        () => peer.ask("SyncGroup", 5, { ...sync, assignments }),
        () => peer.ask("Heartbeat", 4, { groupId, generationId: 1, memberId, ...mine }),
        () => peer.ask("Heartbeat", 4, { groupId, generationId: 1, memberId: "other", ...mine }),
        () => peer.ask("JoinGroup", 9, join(groupId, { ...mine, memberId: "other" })),
        () =>
          peer.ask("OffsetCommit", 8, {
            groupId,
            generationIdOrMemberEpoch: 1,
            memberId: "other",
            ...mine,
            topics: [],
          }),
        // It comes back without its id: the same generation, a new id.
        () => peer.ask("JoinGroup", 9, join(groupId, mine)),
        () => peer.ask("Heartbeat", 4, { groupId, generationId: 1, memberId, ...mine }),
        () => peer.ask("DescribeGroups", 5, { groups: [groupId] }),
        () => peer.ask("LeaveGroup", 5, { groupId, members: [{ memberId: "", ...mine }] }),
        () => peer.ask("DescribeGroups", 5, { groups: [groupId] }),
      ]);
    },
  },
  {
    name: "Offsets committed, fetched and deleted",
    async run(peer) {
      const { name } = await makeTopic(peer, "t", 2);
      const groupId = `${peer.prefix}g`;
      const commit = (fields: object, partition: object = {}) => ({
        groupId,
        generationIdOrMemberEpoch: -1,
        topics: [
          { name, partitions: [{ partitionIndex: 0, committedOffset: 5, committedMetadata: "note", ...partition }] },
        ],
        ...fields,
      });
      const topics = [{ name, partitionIndexes: [0, 1, 7] }];
      return asks(
        peer,
        ["OffsetCommit", 8, commit({ memberId: "nobody", generationIdOrMemberEpoch: 3 })],
        ["OffsetCommit", 8, commit({ groupId: "" })],
        ["OffsetCommit", 8, commit({})],
        ["OffsetCommit", 2, commit({}, { partitionIndex: 1, committedMetadata: null })],
        ["OffsetCommit", 8, commit({}, { partitionIndex: 7 })],
        ["OffsetCommit", 8, commit({}, { committedOffset: -1 })],
        ["OffsetCommit", 8, commit({}, { committedMetadata: "x".repeat(5000) })],
        [
          "OffsetCommit",
          8,
          {
            groupId,
            generationIdOrMemberEpoch: -1,
            topics: [{ name: `${peer.prefix}no`, partitions: [{ partitionIndex: 0, committedOffset: 1 }] }],
          },
        ],
        ["OffsetCommit", 8, { groupId, generationIdOrMemberEpoch: -1, topics: [] }],
        ["OffsetFetch", 1, { groupId, topics }],
        ["OffsetFetch", 5, { groupId, topics: null }],
        ["OffsetFetch", 7, { groupId, topics, requireStable: true }],
        ["OffsetFetch", 7, { groupId: `${peer.prefix}no`, topics }],
        ["OffsetFetch", 7, { groupId: `${peer.prefix}no`, topics: null }],
        [
          "OffsetFetch",
          8,
          {
            groups: [
              { groupId, topics },
              { groupId: `${peer.prefix}no`, topics: null },
              { groupId, topics: null },
            ],
          },
        ],
        ["OffsetFetch", 8, { groups: [] }],
        [
          "OffsetDelete",
          0,
          { groupId, topics: [{ name, partitions: [{ partitionIndex: 0 }, { partitionIndex: 7 }] }] },
        ],
        ["OffsetDelete", 0, { groupId: `${peer.prefix}no`, topics: [{ name, partitions: [{ partitionIndex: 0 }] }] }],
        ["OffsetDelete", 0, { groupId: "", topics: [] }],
        ["OffsetFetch", 7, { groupId, topics }],
        ["DescribeGroups", 5, { groups: [groupId] }],
        ["DeleteGroups", 2, { groupsNames: [groupId] }],
        ["OffsetFetch", 7, { groupId, topics }],
      );
    },
  },
  {
    name: "Offsets of a member",
    async run(peer) {
      const { name } = await makeTopic(peer, "t");
      const groupId = `${peer.prefix}g`;
      const memberId = await aloneIn(peer, groupId);
      const commit = (fields: object) => ({
        groupId,
        memberId,
        generationIdOrMemberEpoch: 1,
        topics: [{ name, partitions: [{ partitionIndex: 0, committedOffset: 5 }] }],
        ...fields,
      });
      return asks(
        peer,
        ["OffsetCommit", 8, commit({})],
        ["OffsetCommit", 8, commit({ generationIdOrMemberEpoch: 0 })],
        ["OffsetCommit", 8, commit({ generationIdOrMemberEpoch: 2 })],
        ["OffsetCommit", 8, commit({ memberId: "nobody" })],
        ["OffsetCommit", 8, commit({ memberId: "", generationIdOrMemberEpoch: -1 })],
        ["OffsetDelete", 0, { groupId, topics: [{ name, partitions: [{ partitionIndex: 0 }] }] }],
        [
          "OffsetFetch",
          9,
          { groups: [{ groupId, memberId, memberEpoch: 1, topics: [{ name, partitionIndexes: [0] }] }] },
        ],
        [
          "OffsetFetch",
          9,
          { groups: [{ groupId, memberId: "nobody", memberEpoch: 9, topics: [{ name, partitionIndexes: [0] }] }] },
        ],
      );
    },
  },
];
