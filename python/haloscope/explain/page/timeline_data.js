// The calls of a trace by thread: times, the ones in view, and the ones that the reader searches.

const FAMILIES = Object.keys(PALETTE.kinds);
const [COMPUTING, WAITING] = [FAMILIES.indexOf("compute"), FAMILIES.indexOf("waiting")];

// The first row of each thread. Rows are sorted by thread.
function threadsOf(location, threads) {
  const starts = new Uint32Array(threads + 1).fill(location.length);
  for (let i = location.length - 1; i >= 0; i--) starts[location[i]] = i;
  for (let thread = threads - 1; thread >= 0; thread--) starts[thread] = Math.min(starts[thread], starts[thread + 1]);
  return starts;
}

// The first row in from … to − 1 whose value is larger. The values of these rows increase.
function firstAfter(values, from, to, value) {
  while (from < to) {
    const middle = (from + to) >> 1;
    if (values[middle] > value) to = middle;
    else from = middle + 1;
  }
  return from;
}

// The page has gaps between calls, which are small numbers. Returns the columns with begins and ends.
function openCalls({ boxes, locations, names }) {
  const { gap, length, ...columns } = columnsOf(boxes);
  const [begin, end] = [new Uint32Array(gap.length), new Uint32Array(gap.length)];
  const { location } = columns;
  for (let i = 0; i < gap.length; i++) {
    begin[i] = (i && location[i] === location[i - 1] ? end[i - 1] : 0) + gap[i];
    end[i] = begin[i] + length[i];
  }
  const family = Uint8Array.from(names, ([, name]) => FAMILIES.indexOf(name));
  return { ...columns, begin, end, family, starts: threadsOf(location, locations.length) };
}

// The time of a box in MPI. A box of one call is this call.
const timeInMpi = (calls, i) => (calls.calls[i] === 1 ? calls.end[i] - calls.begin[i] : calls.time[i]);

// The call of a thread at a time, or one at most `reach` from it. -1 if there is none.
function callAt(calls, thread, time, reach) {
  const [from, to] = [calls.starts[thread], calls.starts[thread + 1]];
  const after = firstAfter(calls.end, from, to, time);
  const before = after > from ? time - calls.end[after - 1] : Infinity;
  const ahead = after < to ? calls.begin[after] - time : Infinity;
  if (Math.min(before, ahead) > reach) return -1;
  return ahead <= before ? after : after - 1;
}

// Which boxes are of a function or region whose name contains the text. Null without a text.
function searchCalls(run, calls, text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return null;
  const inName = run.timeline.names.map(([name]) => name.toLowerCase().includes(wanted));
  const inRegion = run.full.map((name) => name.toLowerCase().includes(wanted));
  return Uint8Array.from(calls.name, (name, i) => inName[name] || inRegion[calls.region[i]]);
}

// The found box that begins first after a time, on any thread; after the last one, the first. -1 if there is none.
function nextFound(calls, found, chosen) {
  const after = (i, j) => calls.begin[i] > calls.begin[j] || (calls.begin[i] === calls.begin[j] && i > j);
  let [first, next] = [-1, -1];
  for (let i = 0; i < found.length; i++) {
    if (!found[i]) continue;
    if (first < 0 || after(first, i)) first = i;
    if (chosen >= 0 && after(i, chosen) && (next < 0 || after(next, i))) next = i;
  }
  return next < 0 ? first : next;
}

// Messages that begin or end with a call. Rounding may move a time by one.
function messagesOf({ begin, end, source, destination, bytes }, calls, call) {
  const thread = calls.location[call];
  const found = [];
  for (let i = 0; i < begin.length; i++) {
    const sent = source[i] === thread && Math.abs(begin[i] - calls.begin[call]) <= 1;
    if (sent || (destination[i] === thread && Math.abs(end[i] - calls.end[call]) <= 1)) found.push({ i, sent, bytes: bytes[i] });
  }
  return found;
}

// At most one message per `pixels` and sending thread: the slowest. Returns them and the number of all in view.
function thinMessages({ begin, end, source, destination }, view, scale, pixels) {
  const inView = (row) => row >= view.top - 1 && row < view.top + view.rows;
  const slowest = new Map();
  let count = 0;
  for (let i = 0; i < begin.length && begin[i] < view.to; i++) {
    if (end[i] < view.from || !(inView(source[i]) || inView(destination[i]))) continue;
    count++;
    const place = Math.floor((begin[i] - view.from) * scale / pixels) * 65536 + source[i];
    const other = slowest.get(place);
    if (other === undefined || end[i] - begin[i] > end[other] - begin[other]) slowest.set(place, i);
  }
  return { arrows: [...slowest.values()], count };
}

const wholeRun = ({ timeline }) => ({ from: 0, to: Math.max(1, timeline.length / timeline.unit), top: 0 });

// A view within the run: at least 50 units of time, all of whose rows exist.
function withinRun(view, whole, threads) {
  const width = Math.min(Math.max(50, view.to - view.from), whole.to);
  const from = Math.max(0, Math.min(view.from, whole.to - width));
  return { ...view, from, to: from + width, top: Math.max(0, Math.min(view.top, threads - view.rows)) };
}

// The view after a key, a button or the wheel: closer to a time, or later by a part of its width.
function zoomed(view, factor, around = (view.from + view.to) / 2) {
  return { ...view, from: around - (around - view.from) * factor, to: around + (view.to - around) * factor };
}

function shifted(view, part) {
  const by = part * (view.to - view.from);
  return { ...view, from: view.from + by, to: view.to + by };
}
