// The whole run in small: one line per rank or group of ranks, the view as a frame.

const MAP_MOST = 96; // pixels
const mapHeight = (threads) => Math.min(MAP_MOST, Math.max(24, 6 * threads));

// Waiting and the other time in MPI, as shares of the time of each pixel's column and line.
function sharesOfMap(calls, threads, length, width, lines) {
  const [waiting, other] = [new Float32Array(width * lines), new Float32Array(width * lines)];
  const scale = width / length;
  const weight = lines / threads;
  for (let i = 0; i < calls.begin.length; i++) {
    const line = Math.floor(calls.location[i] * lines / threads) * width;
    const [from, to] = [calls.begin[i] * scale, calls.end[i] * scale];
    const time = timeInMpi(calls, i) / (calls.end[i] - calls.begin[i] || 1);
    const wait = from + calls.waited[i] * scale;
    for (let x = Math.floor(from); x < to && x < width; x++) {
      const inColumn = Math.min(to, x + 1) - Math.max(from, x);
      const waited = Math.max(0, Math.min(wait, x + 1) - Math.max(from, x));
      waiting[line + x] += waited * weight;
      other[line + x] += Math.max(0, inColumn * time - waited) * weight;
    }
  }
  return { waiting, other };
}

const channels = (hex) => (hex.length === 4 ? [1, 2, 3].map((i) => 17 * parseInt(hex[i], 16)) : [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)));

function pictureOfMap(run, calls, width) {
  const threads = run.timeline.locations.length;
  const height = mapHeight(threads);
  const lines = Math.min(threads, height);
  const { waiting, other } = sharesOfMap(calls, threads, run.timeline.length / run.timeline.unit, width, lines);
  const picture = new ImageData(width, height);
  const [compute, wait, mpi] = ["compute", "waiting", "p2p"].map((kind) => channels(colour(PALETTE.kinds[kind].colour)));
  for (let pixel = 0; pixel < width * height; pixel++) {
    const cell = Math.floor(Math.floor(pixel / width) * lines / height) * width + pixel % width;
    const [a, b] = [Math.min(1, waiting[cell]), Math.min(1, other[cell])];
    const rest = Math.max(0, 1 - a - b);
    for (let c = 0; c < 3; c++) picture.data[4 * pixel + c] = wait[c] * a + mpi[c] * b + compute[c] * rest;
    picture.data[4 * pixel + 3] = 255;
  }
  return picture;
}

function drawMap(canvas, run, calls, view) {
  const pen = canvas.getContext("2d");
  const width = Math.max(1, canvas.clientWidth);
  const theme = document.documentElement.dataset.theme;
  const map = run.timeline.map;
  if (!map || map.width !== width || map.theme !== theme) run.timeline.map = { width, theme, picture: pictureOfMap(run, calls, width) };
  const { picture } = run.timeline.map;
  if (canvas.width !== width || canvas.height !== picture.height) [canvas.width, canvas.height] = [width, picture.height];
  pen.putImageData(picture, 0, 0);
  const across = width / wholeRun(run).to;
  const along = picture.height / run.timeline.locations.length;
  pen.strokeStyle = colour(PALETTE.ink);
  pen.lineWidth = 2;
  pen.strokeRect(view.from * across + 1, view.top * along + 1, Math.max(2, (view.to - view.from) * across - 2), Math.max(2, view.rows * along - 2));
}
