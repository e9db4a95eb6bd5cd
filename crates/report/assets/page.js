"use strict";
// Tables that sort and filter, traces that zoom, chains that hide. Without this script the page
// still shows its figures and the first rows of its tables.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const NS = "http://www.w3.org/2000/svg";
  const make = (name, attributes, parent) => {
    const node = document.createElementNS(NS, name);
    for (const key in attributes) node.setAttribute(key, attributes[key]);
    if (parent) parent.appendChild(node);
    return node;
  };
  const button = (node, action) => {
    node.setAttribute("tabindex", "0");
    node.setAttribute("role", "button");
    node.addEventListener("click", action);
    node.addEventListener("keydown", (e) => {
      if (e.key === "Enter" || e.key === " ") { e.preventDefault(); action(e); }
    });
  };

  // Light and dark.
  const root = document.documentElement;
  const theme = document.getElementById("theme");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    root.dataset.theme = (root.dataset.theme || system) === "dark" ? "light" : "dark";
  });

  // Links into folded parts open them.
  for (const link of document.querySelectorAll("nav a")) {
    link.addEventListener("click", () => {
      const target = document.querySelector(link.getAttribute("href"));
      if (target && target.tagName === "DETAILS") target.open = true;
    });
  }

  // Downloads.
  for (const node of document.querySelectorAll("button.download")) {
    const file = data.files.find((f) => f[0] === node.dataset.file);
    if (!file) continue;
    node.hidden = false;
    node.addEventListener("click", () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([file[1]], { type: "text/plain" }));
      link.download = file[0];
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  }

  // Draws are unpacked when they are first needed.
  const unpacked = new Map();
  const draws = (k) => {
    if (!unpacked.has(k)) {
      const text = atob(data.series[k].f32);
      const bytes = new Uint8Array(text.length);
      for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
      unpacked.set(k, new Float32Array(bytes.buffer));
    }
    return unpacked.get(k);
  };

  const ticks = (low, high, n) => {
    const raw = (high - low) / n;
    if (!(raw > 0) || !isFinite(raw)) return { at: [], decimals: 0 };
    const power = Math.pow(10, Math.floor(Math.log10(raw)));
    const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= raw * (1 - 1e-9));
    const at = [];
    const first = Math.ceil(low / step);
    for (let k = first; k * step <= high * (1 + 1e-12) + step * 1e-9 && at.length < 50; k++) at.push(k * step);
    return { at, decimals: Math.max(0, -Math.floor(Math.log10(step * (1 + 1e-9)))) };
  };
  const shown = (v, decimals) => {
    const size = Math.abs(v);
    const text = size !== 0 && (size >= 1e6 || size < 1e-4)
      ? v.toExponential(2)
      : v.toFixed(Math.min(decimals, 12));
    return text.replace("-", "\u2212");
  };

  // A panel of draws: redrawn for any stretch of draws. `old` are ticks that the first redrawing
  // replaces.
  const panel = (group, rect, k, paths, labels, old) => {
    const series = data.series[k];
    const [x, y, width, height] = rect;
    let view = [0, series.draws - 1];
    const redraw = () => {
      const values = draws(k);
      const from = Math.max(0, Math.floor(view[0]));
      const to = Math.min(series.draws - 1, Math.ceil(view[1]));
      let low = Infinity, high = -Infinity;
      for (const c of paths.keys()) {
        for (let i = from; i <= to; i++) {
          const v = values[c * series.draws + i];
          if (v < low) low = v;
          if (v > high) high = v;
        }
      }
      if (!(low <= high)) { low = 0; high = 1; }
      if (low === high) { low -= Math.abs(low) * 0.1 || 1; high += Math.abs(high) * 0.1 || 1; }
      const margin = (high - low) * 0.04;
      low -= margin; high += margin;
      const span = view[1] - view[0] || 1;
      const px = (i) => x + ((i - view[0]) / span) * width;
      const py = (v) => y + height - ((v - low) / (high - low)) * height;
      const stride = Math.max(1, (to - from + 1) / (2 * width));
      for (const [c, path] of paths) {
        let d = "", pen = "M";
        const point = (i) => {
          const v = values[c * series.draws + i];
          if (!isFinite(v)) { pen = "M"; return; }
          d += pen + px(i).toFixed(1) + " " + py(v).toFixed(1);
          pen = "L";
        };
        if (stride <= 1) {
          for (let i = from; i <= to; i++) point(i);
        } else {
          // The least and the greatest of each column of pixels.
          for (let column = 0; column < width; column++) {
            const a = from + Math.floor((column * (to - from + 1)) / width);
            const b = from + Math.floor(((column + 1) * (to - from + 1)) / width);
            let least = -1, most = -1;
            for (let i = a; i < b; i++) {
              const v = values[c * series.draws + i];
              if (!isFinite(v)) continue;
              if (least < 0 || v < values[c * series.draws + least]) least = i;
              if (most < 0 || v > values[c * series.draws + most]) most = i;
            }
            if (least >= 0) {
              point(Math.min(least, most));
              if (least !== most) point(Math.max(least, most));
            }
          }
        }
        path.setAttribute("d", d || "M0 0");
      }
      if (old) { old.remove(); old = null; }
      labels.textContent = "";
      const text = (px_, py_, words, anchor) => {
        const node = make("text", { x: px_, y: py_, "font-size": 11, "text-anchor": anchor, fill: "var(--muted)" }, labels);
        node.textContent = words;
      };
      const up = ticks(low, high, 4);
      for (const v of up.at) {
        make("path", { d: `M${x} ${py(v)}h${width}`, stroke: "var(--grid)", fill: "none" }, labels);
        text(x - 6, py(v) + 4, shown(v, up.decimals), "end");
      }
      const across = ticks(view[0] * series.step, view[1] * series.step, 6);
      for (const v of across.at) {
        if (v % 1 !== 0) continue;
        const at = px(v / series.step);
        make("path", { d: `M${at} ${y + height}v4`, stroke: "var(--axis)", fill: "none" }, labels);
        text(at, y + height + 16, shown(v, 0), "middle");
      }
    };
    const zoom = (low, high) => { view = [low, high]; redraw(); };
    const hit = make("rect", { class: "hit", x, y, width, height }, group.parentNode);
    const help = make("title", {}, hit);
    help.textContent = "drag to zoom, double-click to see all draws";
    const box = make("rect", { x: 0, y, width: 0, height, fill: "var(--axis)", "fill-opacity": 0.25, "pointer-events": "none" }, group.parentNode);
    let start = null;
    const place = (event) => {
      const at = hit.getScreenCTM();
      const px = (event.clientX - at.e) / at.a;
      return Math.min(x + width, Math.max(x, px));
    };
    hit.addEventListener("pointerdown", (e) => {
      start = place(e);
      hit.setPointerCapture(e.pointerId);
    });
    hit.addEventListener("pointermove", (e) => {
      if (start === null) return;
      const end = place(e);
      box.setAttribute("x", Math.min(start, end));
      box.setAttribute("width", Math.abs(end - start));
    });
    hit.addEventListener("pointerup", (e) => {
      if (start === null) return;
      const end = place(e);
      const ends = [Math.min(start, end), Math.max(start, end)];
      start = null;
      box.setAttribute("width", 0);
      if (ends[1] - ends[0] < 5) return;
      const draw = (p) => view[0] + ((p - x) / width) * (view[1] - view[0]);
      if (draw(ends[1]) - draw(ends[0]) >= 2) zoom(draw(ends[0]), draw(ends[1]));
    });
    hit.addEventListener("dblclick", () => zoom(0, series.draws - 1));
    return redraw;
  };

  // Panels that stand in the page.
  for (const group of document.querySelectorAll("g.zoom")) {
    const k = Number(group.dataset.series);
    if (!data.series[k]) continue;
    const rect = group.dataset.rect.split(" ").map(Number);
    const paths = new Map();
    for (const path of group.querySelectorAll("path[data-chain]")) paths.set(Number(path.dataset.chain), path);
    if (!paths.size || paths.size < data.series[k].chains) continue; // Bands stay as they are.
    let old = group.previousElementSibling;
    while (old && !old.classList.contains("ticks")) old = old.previousElementSibling;
    const labels = make("g", {}, null);
    group.parentNode.insertBefore(labels, group);
    panel(group, rect, k, paths, labels, old);
  }

  // Chains: a click on a name hides and shows them everywhere.
  const hidden = new Set();
  const apply = () => {
    for (const node of document.querySelectorAll("[data-chain]")) {
      const off = hidden.has(node.dataset.chain);
      if (node.classList.contains("toggle")) {
        node.classList.toggle("off", off);
        node.setAttribute("aria-pressed", String(!off));
      } else {
        node.classList.toggle("hidechain", off);
      }
    }
  };
  for (const node of document.querySelectorAll("g.toggle")) {
    button(node, () => {
      const chain = node.dataset.chain;
      if (!hidden.delete(chain)) hidden.add(chain);
      apply();
    });
  }

  // Any number whose draws are in the page.
  const explorer = document.getElementById("explorer");
  const explore = (k) => {
    if (!explorer) return;
    const series = data.series[k];
    explorer.hidden = false;
    explorer.textContent = "";
    const svg = make("svg", { viewBox: "0 0 1100 220", width: 1100, height: 220, "font-family": "Inter,sans-serif" }, explorer);
    const title = make("text", { x: 70, y: 16, "font-size": 13, "font-weight": 600, fill: "var(--text)" }, svg);
    title.textContent = series.label;
    const labels = make("g", {}, svg);
    const group = make("g", {}, svg);
    const paths = new Map();
    for (let c = 0; c < series.chains; c++) {
      const stroke = series.chains <= 7 ? `var(--series${c})` : "var(--grey)";
      paths.set(c, make("path", { fill: "none", stroke, "stroke-width": 0.9, "stroke-opacity": 0.6, "data-chain": c }, group));
    }
    make("path", { d: "M70 190h1014", stroke: "var(--axis)", fill: "none" }, svg);
    panel(group, [70, 28, 1014, 162], k, paths, labels)();
    apply();
  };

  // Tables.
  const FIRST = 25, PAGE = 200;
  const numeric = (text) => {
    const plain = text.replace(/,/g, "").replace(/\u2212/g, "-");
    if (text === "\u221e") return Infinity;
    const value = parseFloat(plain.replace(/^\[/, ""));
    return isNaN(value) ? -Infinity : value;
  };
  document.querySelectorAll("div.table").forEach((node) => {
    const table = data.tables[Number(node.dataset.table)];
    const body = node.querySelector("tbody");
    const heads = [...node.querySelectorAll("th")];
    const tools = node.querySelector(".tools");
    const more = node.querySelector(".more");
    let rows = table.rows, limit = FIRST, order = null, words = "";
    const write = () => {
      const wanted = words.toLowerCase();
      let kept = wanted ? rows.filter((r) => r[0].some((t) => t.toLowerCase().includes(wanted))) : rows;
      if (order) {
        const [k, sign] = order;
        const value = table.numeric[k] ? (r) => numeric(r[0][k]) : (r) => r[0][k];
        kept = kept.map((r, i) => [value(r), i, r]);
        kept.sort((a, b) => (a[0] < b[0] ? -sign : a[0] > b[0] ? sign : a[1] - b[1]));
        kept = kept.map((t) => t[2]);
      }
      body.textContent = "";
      for (const row of kept.slice(0, limit)) {
        const tr = document.createElement("tr");
        row[0].forEach((text, k) => {
          const td = document.createElement("td");
          td.textContent = text;
          if (table.numeric[k]) td.className = "n";
          tr.appendChild(td);
        });
        for (const [k, state] of row[1]) tr.children[k].classList.add(state);
        if (row[2] !== null && explorer) {
          tr.classList.add("open");
          tr.title = "click to see its draws";
          tr.addEventListener("click", () => {
            for (const other of body.querySelectorAll(".chosen")) other.classList.remove("chosen");
            tr.classList.add("chosen");
            explore(row[2]);
          });
        }
        body.appendChild(tr);
      }
      if (tools) tools.querySelector(".count").textContent = `${kept.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
      if (more) {
        more.textContent = "";
        if (kept.length > limit) {
          const next = document.createElement("button");
          next.textContent = `show ${Math.min(PAGE, kept.length - limit)} more of ${(kept.length - limit).toLocaleString("en")}`;
          next.addEventListener("click", () => { limit += PAGE; write(); });
          more.appendChild(next);
        }
      }
    };
    heads.forEach((head, k) => {
      head.classList.add("sortable");
      button(head, () => {
        const sign = order && order[0] === k ? -order[1] : table.numeric[k] ? -1 : 1;
        order = [k, sign];
        heads.forEach((h) => h.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
        write();
      });
    });
    if (tools) {
      tools.hidden = false;
      tools.querySelector("input").addEventListener("input", (e) => { words = e.target.value; limit = FIRST; write(); });
    }
    write();
  });
})();
