// One clock drives all views and plots; one orbit turns all cameras together.

const data = JSON.parse(document.getElementById("data").textContent);
const last = data.count - 1;
const START = { azimuth: 140 * Math.PI / 180, elevation: -14 * Math.PI / 180, zoom: 1 };
const state = { moment: 0, playing: true, speed: 1, orbit: { ...START }, dirty: true };
const $ = (id) => document.getElementById(id);

const tracks = data.tracks.map((raw) => ({
  name: raw.name,
  label: raw.label,
  shapes: typeof raw.figure === "number" ? data.tracks[raw.figure].figure : raw.figure,
  frames: raw.poses.frames,
  count: data.count,
  pos: unpack(raw.poses.pos),
  quat: unpack(raw.poses.quat),
  target: unpack(raw.target),
  ghostShift: raw.ghostShift ? unpack(raw.ghostShift) : null,
  distance: raw.distance,
}));
const reference = tracks.find((track) => track.name === "reference");

let colors = {};
function readColors() {
  const style = getComputedStyle(document.documentElement), get = (name) => style.getPropertyValue(name).trim();
  colors = {
    sky: get("--sky"), horizon: get("--horizon"), floor: get("--floor"), grid: get("--grid"), shadow: get("--shadow"),
    ink: get("--ink"), pale: get("--pale"), line: get("--line"), motion: get("--accent"),
    curveA: get("--curve-a"), curveB: get("--curve-b"), curveC: get("--curve-c"),
  };
  state.dirty = true;
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", readColors);

const views = tracks.map((track) => {
  const card = document.createElement("div"), canvas = document.createElement("canvas");
  const head = document.createElement("h2"), note = document.createElement("p");
  card.className = "view";
  head.append(track.label);
  card.append(canvas, head, note);
  $("views").append(card);
  let grip = null;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    grip = [event.clientX, event.clientY];
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!grip || !event.buttons) return;
    state.orbit.azimuth -= (event.clientX - grip[0]) * 0.01;
    state.orbit.elevation = Math.max(-1.5, Math.min(0.1, state.orbit.elevation - (event.clientY - grip[1]) * 0.008));
    grip = [event.clientX, event.clientY];
    state.dirty = true;
  });
  canvas.addEventListener("pointerup", () => { grip = null; });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    state.orbit.zoom = Math.max(0.4, Math.min(4, state.orbit.zoom * Math.exp(-event.deltaY * 0.001)));
    state.dirty = true;
  }, { passive: false });
  return { track, canvas, note, painter: new Painter(canvas, data.light) };
});

function segmentAt(seconds) {
  let name = data.segments[0][0];
  for (const [next, start] of data.segments) if (start <= seconds + 1e-9) name = next;
  return name;
}

function drawViews() {
  const seconds = state.moment / data.fps;
  for (const { track, canvas, note, painter } of views) {
    const [width, height] = fitCanvas(canvas);
    const view = new View(width, height, vectorAt(track.target, state.moment), track.distance / state.orbit.zoom,
      state.orbit.azimuth, state.orbit.elevation);
    const figures = [{ shapes: track.shapes, poses: posesAt(track, state.moment) }];
    if (track.ghostShift && reference && $("ghost").checked) {
      // The ghost is the reference moved over the policy's base; its own base tells by how much.
      const poses = posesAt(reference, state.moment), goal = add(figures[0].poses[0].pos, vectorAt(track.ghostShift, state.moment));
      figures.push({ shapes: reference.shapes, poses, ghost: data.ghost, shift: sub(goal, poses[0].pos) });
    }
    painter.paint(view, figures, colors);
    const fell = track.name === "policy" && data.fellAt !== null && seconds >= data.fellAt;
    note.className = fell ? "bad" : "";
    note.textContent = fell ? `fell at ${data.fellAt.toFixed(1)} s` : track.name === "reference" ? segmentAt(seconds) : "";
  }
}

const plots = [];
function makePlots() {
  const parent = $("plots"), curves = data.curves, seek = (share) => goTo(share * last);
  const pair = (a, b) => [[a, "curveA"], [b, "curveB"]].filter(([values]) => values);
  const legend = [["a", "reference"], ["b", "policy"]];
  const heights = pair(curves.heightReference, curves.heightPolicy);
  if (heights.length) {
    const canvas = addPlot(parent, "Base height [m]", legend.slice(0, curves.heightPolicy ? 2 : 1), seek);
    plots.push((share) => drawCurves(canvas, heights.map(([values, color]) => ({ values, color: colors[color] })), "m", data, share, colors));
  }
  if (curves.jointError) {
    const canvas = addPlot(parent, "Mean joint error [rad]", [], seek);
    plots.push((share) => drawCurves(canvas, [{ values: curves.jointError, color: colors.curveB }], "rad", data, share, colors));
  }
  const planned = curves.contactReference, measured = curves.contactPolicy;
  if (planned || measured) {
    const names = legend.filter((_, i) => [planned, measured][i]);
    const canvas = addPlot(parent, "Foot contacts", names, seek);
    const rows = data.feet.map((name, i) => ({ name, planned: planned && planned[i], measured: measured && measured[i] }));
    plots.push((share) => drawContacts(canvas, rows, data, share, colors));
  }
  const kinds = [["torque", "torque", "a", "curveA"], ["pressure", "balance", "b", "curveB"], ["friction", "friction", "c", "curveC"]];
  const demands = [[data.demands, "Demands of the reference (hard from 1)"], [data.before, "Demands before the fix, stretched to its length"]];
  // Before and after have one scale, so that they can be compared.
  const most = Math.min(3, Math.max(1, ...demands.flatMap(([curves]) => kinds.flatMap(([key]) => curves[key] || []))));
  for (const [curves, title] of demands) {
    const asked = kinds.filter(([key]) => curves[key]);
    if (!asked.length) continue;
    const canvas = addPlot(parent, title, asked.map(([, name, kind]) => [kind, name]), seek);
    const series = asked.map(([key, , , color]) => ({ values: curves[key].map((v) => Math.min(v, 3)), color }));
    plots.push((share) => drawCurves(canvas, series.map((s) => ({ ...s, color: colors[s.color] })), "", data, share, colors, most, 1));
  }
  for (const [start, , text] of data.reasons) {
    const row = document.createElement("button");
    row.textContent = text;
    row.addEventListener("click", () => { setPlaying(false); goTo(start * data.fps); });
    $("reasons").append(row);
  }
}

function goTo(moment) {
  state.moment = Math.max(0, Math.min(last, moment));
  state.dirty = true;
}
function setPlaying(playing) {
  state.playing = playing;
  $("play").textContent = playing ? "Pause" : "Play";
  state.dirty = true;
}

data.segments.forEach(([name, start], i) => {
  const end = i + 1 < data.segments.length ? data.segments[i + 1][1] : last / data.fps, span = document.createElement("span");
  span.style.flex = `${Math.max(end - start, 0.001)} 1 0`;
  span.className = name === "motion" ? "motion" : "";
  span.title = span.textContent = name;
  $("segments").append(span);
});
$("scrub").max = last;
$("scrub").addEventListener("input", () => goTo(Number($("scrub").value)));
$("play").addEventListener("click", () => setPlaying(!state.playing));
$("speed").addEventListener("change", () => { state.speed = Number($("speed").value); });
$("ghost").addEventListener("change", () => { state.dirty = true; });
$("reset").addEventListener("click", () => { state.orbit = { ...START }; state.dirty = true; });
$("ghostLabel").hidden = !tracks.some((track) => track.ghostShift);
addEventListener("resize", () => { state.dirty = true; });
addEventListener("keydown", (event) => {
  if (["INPUT", "SELECT", "BUTTON"].includes(event.target.tagName) && event.key === " ") event.target.blur();
  const act = {
    " ": () => setPlaying(!state.playing),
    ArrowLeft: () => { setPlaying(false); goTo(state.moment - 1); },
    ArrowRight: () => { setPlaying(false); goTo(state.moment + 1); },
    r: () => $("reset").click(),
  }[event.key];
  if (act) { event.preventDefault(); act(); }
});

readColors();
makePlots();
// "#t=3.5" opens the page at 3.5 s, paused.
const wanted = /^#t=([0-9.]+)$/.exec(location.hash);
if (wanted) { setPlaying(false); goTo(Number(wanted[1]) * data.fps); }
let before = null;
function tick(now) {
  const elapsed = before === null ? 0 : Math.min((now - before) / 1000, 0.1);
  before = now;
  if (state.playing) {
    state.moment += elapsed * state.speed * data.fps;
    if (state.moment > last) state.moment = 0;
    state.dirty = true;
  }
  if (state.dirty) {
    state.dirty = false;
    const seconds = state.moment / data.fps;
    $("scrub").value = state.moment;
    $("clock").textContent = `${seconds.toFixed(2)} / ${(last / data.fps).toFixed(1)} s`;
    drawViews();
    for (const draw of plots) draw(state.moment / last);
  }
  requestAnimationFrame(tick);
}
requestAnimationFrame(tick);
