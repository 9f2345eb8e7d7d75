// Curves and contact bars over time, with a cursor; a click goes to that time.

function fitCanvas(canvas) {
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
  return [width, height];
}

function addPlot(parent, title, legend, onSeek) {
  const card = document.createElement("div"), head = document.createElement("h3"), canvas = document.createElement("canvas");
  card.className = "plot";
  head.append(title);
  const keys = document.createElement("span");
  for (const [kind, name] of legend) {
    const key = document.createElement("i");
    key.className = kind;
    key.append(name);
    keys.append(key);
  }
  head.append(keys);
  card.append(head, canvas);
  parent.append(card);
  const seek = (event) => {
    const box = canvas.getBoundingClientRect();
    onSeek((event.clientX - box.left - MARGIN) / (box.width - MARGIN - 4));
  };
  canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); seek(event); });
  canvas.addEventListener("pointermove", (event) => { if (event.buttons) seek(event); });
  return canvas;
}

const MARGIN = 38;

function drawCursor(c, width, height, share, colors) {
  const x = MARGIN + share * (width - MARGIN - 4);
  c.strokeStyle = colors.ink;
  c.globalAlpha = 0.6;
  c.lineWidth = 1;
  c.beginPath();
  c.moveTo(x, 4);
  c.lineTo(x, height - 4);
  c.stroke();
  c.globalAlpha = 1;
}

function drawSegments(c, width, height, data, colors) {
  const last = (data.count - 1) / data.fps;
  data.segments.forEach(([name, start], i) => {
    if (name !== "motion") return;
    const end = i + 1 < data.segments.length ? data.segments[i + 1][1] : last, span = width - MARGIN - 4;
    c.globalAlpha = 0.22;
    c.fillStyle = colors.motion;
    c.fillRect(MARGIN + span * start / last, 4, span * (end - start) / last, height - 8);
    c.globalAlpha = 1;
  });
}

// series: [{values: [number | null], color}], all from one axis that begins at 0 and reaches at least `least`; a dashed
// line at `limit`, if there is one.
function drawCurves(canvas, series, unitName, data, share, colors, least = 1e-6, limit = null) {
  const [width, height] = fitCanvas(canvas), c = canvas.getContext("2d");
  c.clearRect(0, 0, width, height);
  drawSegments(c, width, height, data, colors);
  const peak = Math.max(...series.flatMap((s) => s.values.filter((v) => v !== null)), least);
  const digits = peak < 0.1 ? 3 : peak < 2 ? 2 : 0, step = niceStep(peak), top = Math.ceil(peak / step - 1e-9) * step;
  const y = (v) => height - 8 - (height - 18) * v / top;
  c.font = "11px system-ui, sans-serif";
  c.textAlign = "right";
  c.textBaseline = "middle";
  for (let v = 0; v <= top + 1e-9; v += step) {
    c.strokeStyle = colors.line;
    c.lineWidth = 1;
    c.beginPath();
    c.moveTo(MARGIN, y(v));
    c.lineTo(width - 4, y(v));
    c.stroke();
    c.fillStyle = colors.pale;
    c.fillText(v.toFixed(step < 0.1 ? 2 : step < 1 ? 1 : digits > 1 ? 1 : 0), MARGIN - 6, y(v));
  }
  if (limit !== null) {
    c.strokeStyle = colors.ink;
    c.setLineDash([4, 3]);
    c.beginPath();
    c.moveTo(MARGIN, y(limit));
    c.lineTo(width - 4, y(limit));
    c.stroke();
    c.setLineDash([]);
  }
  for (const s of series) {
    c.strokeStyle = s.color;
    c.lineWidth = 1.8;
    c.lineJoin = "round";
    c.beginPath();
    let on = false;
    s.values.forEach((v, i) => {
      if (v === null) { on = false; return; }
      const x = MARGIN + (width - MARGIN - 4) * i / (data.count - 1);
      if (on) c.lineTo(x, y(v)); else c.moveTo(x, y(v));
      on = true;
    });
    c.stroke();
  }
  drawCursor(c, width, height, share, colors);
}
function niceStep(peak) {
  const raw = peak / 3, power = Math.pow(10, Math.floor(Math.log10(raw))), lead = raw / power;
  return power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
}

// rows: [{name, planned: "0110..." | null, measured: "0110..." | null}]
function drawContacts(canvas, rows, data, share, colors) {
  const [width, height] = fitCanvas(canvas), c = canvas.getContext("2d"), span = width - MARGIN - 4;
  c.clearRect(0, 0, width, height);
  drawSegments(c, width, height, data, colors);
  c.font = "11px system-ui, sans-serif";
  c.textAlign = "right";
  c.textBaseline = "middle";
  const band = (height - 10) / rows.length;
  rows.forEach((row, r) => {
    const top = 5 + r * band, kinds = [[row.planned, colors.curveA], [row.measured, colors.curveB]].filter(([bits]) => bits);
    c.fillStyle = colors.pale;
    c.fillText(row.name, MARGIN - 6, top + band / 2);
    kinds.forEach(([bits, color], k) => {
      const h = (band - 8) / kinds.length, y = top + 3 + k * (h + 1);
      c.fillStyle = color;
      for (let i = 0; i < bits.length;) {
        let j = i;
        while (j < bits.length && bits[j] === bits[i]) j++;
        if (bits[i] === "1") c.fillRect(MARGIN + span * i / bits.length, y, Math.max(span * (j - i) / bits.length, 1), h);
        i = j;
      }
    });
  });
  drawCursor(c, width, height, share, colors);
}
