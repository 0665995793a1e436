/** Cases about replicas and leaders, of which there is one each: elections, reassignments, log folders, the quorum. */
import type { Value } from "../twin.ts";
import { asks, type Case, makeTopic } from "./case.ts";

export const replicaCases: Case[] = [
  {
    name: "ElectLeaders where the leader stays",
    async run(peer) {
      const { name } = await makeTopic(peer, "t", 2);
      const of = (topic: string, partitions: number[]) => ({
        topicPartitions: [{ topic, partitions }],
        timeoutMs: 2000,
      });
      return asks(
        peer,
        ["ElectLeaders", 0, of(name, [0, 1])],
        ["ElectLeaders", 1, { ...of(name, [0]), electionType: 1 }],
        ["ElectLeaders", 2, of(name, [0, 0, 2, -1])],
        ["ElectLeaders", 2, of(`${peer.prefix}no`, [0])],
        ["ElectLeaders", 2, { topicPartitions: [], timeoutMs: 2000 }],
        ["ElectLeaders", 2, { ...of(name, [0]), electionType: 7 }],
      );
    },
  },
  {
    name: "AlterPartitionReassignments",
    async run(peer) {
      const { name } = await makeTopic(peer, "t", 2);
      const move = (topic: string, partitionIndex: number, replicas: number[] | null) => ({
        topics: [{ name: topic, partitions: [{ partitionIndex, replicas }] }],
        timeoutMs: 2000,
      });
      return asks(
        peer,
        ["AlterPartitionReassignments", 0, move(name, 0, [1])],
        ["AlterPartitionReassignments", 1, move(name, 1, null)],
        ["AlterPartitionReassignments", 0, move(name, 0, [2])],
        ["AlterPartitionReassignments", 0, move(name, 0, [1, 2])],
        ["AlterPartitionReassignments", 0, move(name, 0, [1, 1])],
        ["AlterPartitionReassignments", 0, move(name, 0, [-3])],
        ["AlterPartitionReassignments", 0, move(name, 0, [])],
        ["AlterPartitionReassignments", 0, move(name, 2, [1])],
        ["AlterPartitionReassignments", 0, move(`${peer.prefix}no`, 0, [1])],
        ["AlterPartitionReassignments", 0, move(`${peer.prefix}no`, 0, null)],
        ["AlterPartitionReassignments", 1, { ...move(name, 0, [1]), allowReplicationFactorChange: false }],
      );
    },
  },
  {
    name: "ListPartitionReassignments",
    async run(peer) {
      const { name } = await makeTopic(peer, "t", 2);
      const timeoutMs = 2000;
      return asks(
        peer,
        ["ListPartitionReassignments", 0, { topics: null, timeoutMs }],
        ["ListPartitionReassignments", 0, { topics: [], timeoutMs }],
        ["ListPartitionReassignments", 0, { topics: [{ name, partitionIndexes: [0, 5] }], timeoutMs }],
        ["ListPartitionReassignments", 0, { topics: [{ name: `${peer.prefix}no`, partitionIndexes: [0] }], timeoutMs }],
      );
    },
  },
  {
    name: "AlterReplicaLogDirs",
    async run(peer) {
      const { name } = await makeTopic(peer, "t", 2);
      const { results } = await peer.raw("DescribeLogDirs", 4, { topics: [] });
      const path = results[0].logDir as string;
      const to = (folder: string, topic: string, partitions: number[]) => ({
        dirs: [{ path: folder, topics: [{ name: topic, partitions }] }],
      });
      return asks(
        peer,
        ["AlterReplicaLogDirs", 1, to(path, name, [0, 1])],
        ["AlterReplicaLogDirs", 2, to(path, name, [0, 2])],
        ["AlterReplicaLogDirs", 2, to(path, `${peer.prefix}no`, [0])],
        ["AlterReplicaLogDirs", 2, to("/nowhere", name, [0])],
        ["AlterReplicaLogDirs", 2, to("/nowhere", `${peer.prefix}no`, [0])],
        ["AlterReplicaLogDirs", 2, to("nowhere", name, [1])],
        ["AlterReplicaLogDirs", 2, { dirs: [] }],
      );
    },
  },
  {
    name: "DescribeQuorum",
    async run(peer) {
      const of = (topicName: string, partitionIndex: number) => ({
        topics: [{ topicName, partitions: [{ partitionIndex }] }],
      });
      const answers = await asks(
        peer,
        ["DescribeQuorum", 0, of("other", 0)],
        ["DescribeQuorum", 2, of("__cluster_metadata", 1)],
        ["DescribeQuorum", 2, { topics: [] }],
        ["DescribeQuorum", 0, of("__cluster_metadata", 0)],
        ["DescribeQuorum", 1, of("__cluster_metadata", 0)],
        ["DescribeQuorum", 2, of("__cluster_metadata", 0)],
      );
      return answers.map(withoutEnds);
    },
  },
];

/** How far the metadata log goes is each broker's own; only that it goes somewhere is compared. */
function withoutEnds(answer: Value): Value {
  const isEnd = (key: string, value: Value) => (key === "highWatermark" || key === "logEndOffset") && value > 0;
  return JSON.parse(JSON.stringify(answer, (key, value) => (isEnd(key, value) ? "END" : value)));
}
