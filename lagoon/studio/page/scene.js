// Draws figures made of boxes, capsules, cylinders and balls on a 2D canvas: no WebGL, so it works
// wherever a browser does. Shapes are shaded by the same light as preview.mp4 and painted far to near.

const FOV = 35 * Math.PI / 180;
const NEAR = 0.05;

function rotate(q, v) {
  const [w, x, y, z] = q;
  const tx = 2 * (y * v[2] - z * v[1]), ty = 2 * (z * v[0] - x * v[2]), tz = 2 * (x * v[1] - y * v[0]);
  return [
    v[0] + w * tx + y * tz - z * ty,
    v[1] + w * ty + z * tx - x * tz,
    v[2] + w * tz + x * ty - y * tx,
  ];
}
function quatMul(a, b) {
  return [
    a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
    a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
    a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
    a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
  ];
}
const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const scale = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = (a) => scale(a, 1 / Math.max(Math.hypot(...a), 1e-9));

// Numbers embedded as 16-bit integers in base64.
function unpack(packed) {
  const text = atob(packed.data), count = text.length / 2, out = new Float32Array(count);
  for (let i = 0; i < count; i++) {
    const raw = text.charCodeAt(2 * i) | (text.charCodeAt(2 * i + 1) << 8);
    out[i] = packed.offset + packed.scale * (raw > 32767 ? raw - 65536 : raw);
  }
  return out;
}

// World poses of a track's frames at a fractional moment: linear in between.
function posesAt(track, moment) {
  const low = Math.min(Math.floor(moment), track.count - 2), t = Math.min(moment - low, 1), frames = track.frames;
  const out = [];
  for (let b = 0; b < frames; b++) {
    const i = (low * frames + b) * 3, j = i + frames * 3, k = (low * frames + b) * 4, l = k + frames * 4;
    const pos = [0, 1, 2].map((n) => track.pos[i + n] * (1 - t) + track.pos[j + n] * t);
    let same = 0;
    for (let n = 0; n < 4; n++) same += track.quat[k + n] * track.quat[l + n];
    const s = same < 0 ? -t : t;
    const q = [0, 1, 2, 3].map((n) => track.quat[k + n] * (1 - t) + track.quat[l + n] * s);
    const length = Math.hypot(...q);
    out.push({ pos, quat: q.map((v) => v / length) });
  }
  return out;
}
function vectorAt(array, moment) {
  const last = array.length / 3 - 1, low = Math.min(Math.floor(moment), last - 1), t = Math.min(moment - low, 1);
  return [0, 1, 2].map((n) => array[3 * low + n] * (1 - t) + array[3 * low + 3 + n] * t);
}

class View {
  // A camera that looks at a target from azimuth and elevation [rad]; see follow() in lagoon/sim/render.py.
  constructor(width, height, target, distance, azimuth, elevation) {
    const ce = Math.cos(elevation), se = Math.sin(elevation);
    this.forward = [ce * Math.cos(azimuth), ce * Math.sin(azimuth), se];
    this.right = [Math.sin(azimuth), -Math.cos(azimuth), 0];
    this.up = cross(this.right, this.forward);
    this.eye = sub(target, scale(this.forward, distance));
    this.width = width;
    this.height = height;
    this.focal = Math.min(height, width * 1.05) / 2 / Math.tan(FOV / 2);
  }
  depth(p) { return dot(sub(p, this.eye), this.forward); }
  project(p) {
    const v = sub(p, this.eye), d = Math.max(dot(v, this.forward), NEAR), f = this.focal / d;
    return [this.width / 2 + f * dot(v, this.right), this.height / 2 - f * dot(v, this.up), d];
  }
}

const tone = (rgb, light, alpha) =>
  `rgba(${rgb.map((c) => Math.max(0, Math.min(255, Math.round(c * light)))).join(",")},${alpha})`;

class Painter {
  constructor(canvas, light) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.toLight = unit(light);
    this.slant = light;
  }
  // Brightness of a surface with unit normal n.
  lit(n) { return 0.68 + 0.4 * Math.max(0, dot(n, this.toLight)) + 0.04 * n[2]; }

  paint(view, figures, colors) {
    const c = this.context;
    this.background(view, colors);
    this.shadows(view, figures.filter((f) => !f.ghost), colors);
    const items = [];
    for (const figure of figures) {
      for (const shape of figure.shapes) {
        const base = figure.poses[shape.frame];
        const pos = add(add(base.pos, rotate(base.quat, shape.pos)), figure.shift || [0, 0, 0]);
        const quat = quatMul(base.quat, shape.quat);
        const depth = view.depth(pos) + (figure.ghost ? 0.02 : 0);
        if (depth < 4 * NEAR) continue;
        const rgb = figure.ghost || shape.rgb, alpha = figure.ghost ? 0.28 : 1;
        items.push({ depth, shape, pos, quat, rgb, alpha });
      }
    }
    items.sort((a, b) => b.depth - a.depth);
    for (const item of items) this[item.shape.kind](view, item);
    c.globalAlpha = 1;
  }

  background(view, colors) {
    const c = this.context, w = view.width, h = view.height;
    const level = unit([view.forward[0], view.forward[1], 0]);
    const y = view.forward[2] > -0.98 ? view.height / 2 + view.focal * view.forward[2] / Math.max(dot(level, view.forward), 0.05) : -1;
    const horizon = Math.max(0, Math.min(h, y));
    const sky = c.createLinearGradient(0, 0, 0, Math.max(horizon, 1));
    sky.addColorStop(0, colors.sky);
    sky.addColorStop(1, colors.horizon);
    c.fillStyle = sky;
    c.fillRect(0, 0, w, h);
    if (view.eye[2] <= 0) return;
    const ground = c.createLinearGradient(0, horizon, 0, Math.min(horizon + h * 0.5, h + 1));
    ground.addColorStop(0, colors.horizon);
    ground.addColorStop(1, colors.floor);
    c.fillStyle = ground;
    c.fillRect(0, horizon, w, h - horizon);
    const step = 0.5, reach = 8, cx = Math.round(view.eye[0] + view.forward[0] * 2), cy = Math.round(view.eye[1] + view.forward[1] * 2);
    c.strokeStyle = colors.grid;
    c.lineWidth = 1;
    for (let i = -reach; i <= reach; i++) {
      this.line(view, [cx + i * step, cy - reach * step, 0], [cx + i * step, cy + reach * step, 0], 1 - Math.abs(i) / (reach + 1));
      this.line(view, [cx - reach * step, cy + i * step, 0], [cx + reach * step, cy + i * step, 0], 1 - Math.abs(i) / (reach + 1));
    }
    c.globalAlpha = 1;
  }
  line(view, a, b, alpha) {
    const da = view.depth(a), db = view.depth(b);
    if (da < NEAR && db < NEAR) return;
    if (da < NEAR) a = add(a, scale(sub(b, a), (NEAR * 2 - da) / (db - da)));
    if (db < NEAR) b = add(b, scale(sub(a, b), (NEAR * 2 - db) / (da - db)));
    const p = view.project(a), q = view.project(b), c = this.context;
    c.globalAlpha = Math.max(alpha, 0);
    c.beginPath();
    c.moveTo(p[0], p[1]);
    c.lineTo(q[0], q[1]);
    c.stroke();
  }

  // The shadows of all shapes as one outline, so that overlaps are not darker. A box counts as a rod.
  shadows(view, figures, colors) {
    if (view.eye[2] <= 0) return;
    const c = this.context, slant = this.slant;
    const drop = (p) => [p[0] - slant[0] * p[2] / slant[2], p[1] - slant[1] * p[2] / slant[2], 0];
    c.beginPath();
    for (const figure of figures) {
      for (const shape of figure.shapes) {
        const base = figure.poses[shape.frame];
        const pos = add(base.pos, rotate(base.quat, shape.pos)), quat = quatMul(base.quat, shape.quat);
        let half = shape.size[1], radius = shape.size[0], axis = [0, 0, 1];
        if (shape.kind === "sphere") half = 0;
        if (shape.kind === "box") {
          const longest = shape.size.indexOf(Math.max(...shape.size));
          axis = [0, 1, 2].map((n) => (n === longest ? 1 : 0));
          radius = (shape.size[0] + shape.size[1] + shape.size[2] - shape.size[longest]) / 2;
          half = Math.max(shape.size[longest] - radius, 0);
        }
        const along = scale(rotate(quat, axis), half);
        this.rodShadow(view, drop(sub(pos, along)), drop(add(pos, along)), radius);
      }
    }
    c.fillStyle = colors.shadow;
    c.fill("nonzero");
  }
  rodShadow(view, a, b, radius) {
    if (view.depth(a) < 4 * NEAR || view.depth(b) < 4 * NEAR) return;
    const heading = Math.atan2(b[1] - a[1], b[0] - a[0]), points = [];
    for (let i = 0; i <= 8; i++) points.push(add(b, this.spoke(heading - Math.PI / 2 + i * Math.PI / 8, radius)));
    for (let i = 0; i <= 8; i++) points.push(add(a, this.spoke(heading + Math.PI / 2 + i * Math.PI / 8, radius)));
    this.trace(points.map((p) => view.project(p)));
  }
  spoke(angle, radius) { return [radius * Math.cos(angle), radius * Math.sin(angle), 0]; }
  trace(points) {
    const c = this.context;
    points.forEach((p, i) => (i ? c.lineTo(p[0], p[1]) : c.moveTo(p[0], p[1])));
    c.closePath();
  }

  sphere(view, item) { this.ball(view, item.pos, item.shape.size[0], item); }
  ball(view, pos, radius, item) {
    const c = this.context, p = view.project(pos), r = view.focal * radius / p[2];
    const l = this.toLight, lx = dot(l, view.right), ly = dot(l, view.up), toward = -dot(l, view.forward);
    const bright = c.createRadialGradient(p[0] + lx * r * 0.6, p[1] - ly * r * 0.6, 0, p[0], p[1], r * 1.15);
    bright.addColorStop(0, tone(item.rgb, 1.0 + 0.12 * Math.max(toward, 0), item.alpha));
    bright.addColorStop(0.55, tone(item.rgb, 0.88, item.alpha));
    bright.addColorStop(1, tone(item.rgb, 0.56, item.alpha));
    c.fillStyle = bright;
    c.beginPath();
    c.arc(p[0], p[1], r, 0, 2 * Math.PI);
    c.fill();
  }

  capsule(view, item) {
    const [radius, half] = item.shape.size, axis = rotate(item.quat, [0, 0, 1]);
    const a = sub(item.pos, scale(axis, half)), b = add(item.pos, scale(axis, half));
    const p = view.project(a), q = view.project(b), rp = view.focal * radius / p[2], rq = view.focal * radius / q[2];
    const dx = q[0] - p[0], dy = q[1] - p[1], length = Math.hypot(dx, dy);
    if (length < Math.abs(rp - rq) + 0.5) {
      this.ball(view, p[2] < q[2] ? a : b, radius, item);
      return;
    }
    const c = this.context, heading = Math.atan2(dy, dx), lean = Math.acos((rp - rq) / length);
    c.beginPath();
    c.arc(q[0], q[1], rq, heading - lean, heading + lean);
    c.arc(p[0], p[1], rp, heading + lean, heading - lean + 2 * Math.PI);
    c.closePath();
    c.fillStyle = this.across(view, item, p, q, Math.max(rp, rq), a, axis);
    c.fill();
  }
  // A gradient from one silhouette edge of a round rod to the other, lit by its real normals.
  across(view, item, p, q, r, at, axis) {
    const c = this.context, dx = q[0] - p[0], dy = q[1] - p[1], length = Math.hypot(dx, dy);
    const nx = -dy / length, ny = dx / length, mx = (p[0] + q[0]) / 2, my = (p[1] + q[1]) / 2;
    const side = unit(add(scale(view.right, nx), scale(view.up, -ny)));
    const sight = unit(sub(view.eye, at)), front = unit(sub(sight, scale(axis, dot(sight, axis))));
    const gradient = c.createLinearGradient(mx - nx * r, my - ny * r, mx + nx * r, my + ny * r);
    for (let i = 0; i <= 6; i++) {
      const s = -1 + i / 3, normal = add(scale(side, s), scale(front, Math.sqrt(Math.max(1 - s * s, 0))));
      const rim = 1 - 0.22 * Math.pow(Math.abs(s), 4);
      gradient.addColorStop(i / 6, tone(item.rgb, this.lit(unit(normal)) * rim, item.alpha));
    }
    return gradient;
  }

  cylinder(view, item) {
    const [radius, half] = item.shape.size, sides = 16, axis = rotate(item.quat, [0, 0, 1]);
    const rim = (z) => Array.from({ length: sides }, (_, i) => {
      const angle = 2 * Math.PI * i / sides;
      return add(item.pos, rotate(item.quat, [radius * Math.cos(angle), radius * Math.sin(angle), z]));
    });
    const top = rim(half), bottom = rim(-half), faces = [];
    for (let i = 0; i < sides; i++) {
      const j = (i + 1) % sides, angle = 2 * Math.PI * (i + 0.5) / sides;
      faces.push({ points: [bottom[i], bottom[j], top[j], top[i]], normal: rotate(item.quat, [Math.cos(angle), Math.sin(angle), 0]) });
    }
    faces.push({ points: top, normal: axis }, { points: bottom, normal: scale(axis, -1) });
    this.faces(view, item, faces);
  }
  box(view, item) {
    const [x, y, z] = item.shape.size, faces = [];
    for (let axis = 0; axis < 3; axis++) {
      for (const sign of [-1, 1]) {
        const normal = [0, 1, 2].map((n) => (n === axis ? sign : 0)), u = (axis + 1) % 3, v = (axis + 2) % 3;
        const points = [[-1, -1], [1, -1], [1, 1], [-1, 1]].map(([su, sv]) => {
          const corner = [0, 0, 0];
          corner[axis] = sign; corner[u] = su; corner[v] = sv;
          return add(item.pos, rotate(item.quat, [corner[0] * x, corner[1] * y, corner[2] * z]));
        });
        faces.push({ points, normal: rotate(item.quat, normal) });
      }
    }
    this.faces(view, item, faces);
  }
  // The faces of a convex solid that look at the camera.
  faces(view, item, faces) {
    const c = this.context;
    c.lineWidth = 0.7;
    c.lineJoin = "round";
    for (const face of faces) {
      if (dot(face.normal, sub(view.eye, face.points[0])) <= 0) continue;
      c.beginPath();
      this.trace(face.points.map((p) => view.project(p)));
      // The stroke in the same colour closes the hairline between neighbouring faces.
      c.fillStyle = c.strokeStyle = tone(item.rgb, this.lit(face.normal), item.alpha);
      c.fill();
      if (item.alpha === 1) c.stroke();
    }
  }
}
