// Many entries in one write, as a merge or a pull brings them.

const CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** An id of this moment; ids made in one call are in order. */
export function newId(time, n) {
  const digits = (value, length) => {
    let text = "";
    for (let i = 0; i < length; i++) {
      text = CROCKFORD[value % 32] + text;
      value = Math.floor(value / 32);
    }
    return text;
  };
  return digits(time, 10) + digits(n, 16);
}

/** Lines of a blackboard, the oldest first, a second apart, the last of them now. */
export function entryLines(count, { agent = "ada", before = 0 } = {}) {
  const types = ["finding", "status", "warning", "finding", "artifact"];
  const end = Date.now() - before;
  return Array.from({ length: count }, (_, i) => {
    const time = end - (count - i) * 1000;
    return `${JSON.stringify({
      id: newId(time, i),
      timestamp: new Date(time).toISOString(),
      agent_id: agent,
      entry_type: types[i % types.length],
      tags: [],
      scope: `src/part${i % 40}/`,
      summary: `entry ${i} of many`,
      detail: "",
      relates_to: [],
    })}\n`;
  }).join("");
}
