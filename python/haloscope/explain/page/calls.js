// Functions of MPI that a region calls.

function callsOf(run, p, inclusive) {
  const [first, last] = rowsOf(run, run.calls, p, inclusive);
  const sums = new Map();
  for (const [call, calls, bytes, time, longest] of run.calls.rows.slice(first, last)) {
    const sum = sums.get(call) || { call, calls: 0, bytes: 0, time: 0, longest: 0 };
    sums.set(call, { call, calls: sum.calls + calls, bytes: sum.bytes + bytes, time: sum.time + time, longest: Math.max(sum.longest, longest) });
  }
  return [...sums.values()].sort((a, b) => b.time - a.time || (a.call < b.call ? -1 : 1));
}

// Some functions are only counted.
const asCallTime = (time) => (time === 0 ? "not timed" : asTime(time));

function callColumns(rows) {
  const total = rows.reduce((sum, row) => sum + row.time, 0);
  const column = (title, explanation, name, text) => [title, explanation, (row) => row[name], (row) => text(row[name])];
  return [
    column("call", "The function of MPI", "call", (text) => text),
    column("calls", "All ranks (calls)", "calls", asCount),
    column("bytes", "In these calls (bytes)", "bytes", asBytes),
    column("time", "Sum over ranks and calls (time_total)", "time", asCallTime),
    ["share", "Share of the time in these calls", (row) => (total ? row.time / total : null), (row) => asShare(row.time, total)],
    ["mean", "Time of a call", (row) => (row.calls ? row.time / row.calls : null), (row) => asCallTime(row.calls ? row.time / row.calls : null)],
    column("longest", "The longest call of any rank (time_max)", "longest", asCallTime),
  ];
}
