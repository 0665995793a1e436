/** Checks of the leader epoch that a client knows (KIP-320). One node leads everything, in epoch 0, for ever. */
import { KafkaError } from "../base/kafka_error.ts";

export const leaderEpoch = 0;

/** -1: the client does not say. Throws FENCED_LEADER_EPOCH or UNKNOWN_LEADER_EPOCH. */
export function checkLeaderEpoch(known: number): void {
  if (known === -1) return;
  if (known < leaderEpoch) throw new KafkaError("FENCED_LEADER_EPOCH");
  if (known > leaderEpoch) throw new KafkaError("UNKNOWN_LEADER_EPOCH");
}
