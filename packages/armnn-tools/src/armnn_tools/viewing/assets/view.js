// SPDX-License-Identifier: MIT
// Draws the document of armnn.viewing. Every text of it becomes a text node, never markup.
"use strict";
(() => {
  const model = JSON.parse(document.getElementById("document").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const WIDTH = 190, HEIGHT = 40, GAP = 14, TITLE = 22, LONGEST = 24;
  const CONVERTED = "⇄"; // on layers with conversions or transposes around them
  const STEPS = [0.01, 0.03, 0.1, 0.25];
  const FAST_ENOUGH = 300; // nodes that the best, slower way of ranking still lays out at once

  const byId = (id) => document.getElementById(id);
  // Of blocks that repeat, the first one is open.
  const folded = new Set([...model.parts.keys()].filter((part) => model.parts[part].block > 1));
  const state = { chosen: null, color: "backend", scale: 1, size: [1, 1], places: new Map() };

  // ---- elements ---------------------------------------------------------------------------------

  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  function shape(name, attributes = {}, ...children) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  const shortened = (text, most = LONGEST) =>
    text.length <= most ? text : `${text.slice(0, Math.ceil(most / 2) - 1)}…${text.slice(-Math.floor(most / 2))}`;
  const counted = (number) => (number === null ? "not known" : number.toLocaleString("en"));
  const plural = (count, noun) => `${counted(count)} ${noun}${count === 1 ? "" : "s"}`;
  const percent = (share) => `${(100 * share).toFixed(1)} %`;

  // ---- items: layers, and parts that are folded ---------------------------------------------------

  const partId = (part) => `p${part}`;
  const layerId = (layer) => `l${layer}`;
  const members = model.parts.map(() => []);
  model.nodes.forEach((node, index) => { if (node.part !== null) members[node.part].push(index); });

  function itemOf(layer) {
    const part = model.nodes[layer].part;
    return part !== null && folded.has(part) ? partId(part) : layerId(layer);
  }

  function layersOf(item) {
    return item[0] === "p" ? members[+item.slice(1)] : [+item.slice(1)];
  }

  // ---- layout: each open part by itself, then the graph of parts and other layers ------------------

  function laidOut(nodes, edges) {
    const graph = new dagre.graphlib.Graph({ multigraph: false });
    const ranker = nodes.length > FAST_ENOUGH ? "longest-path" : "network-simplex";
    graph.setGraph({ rankdir: "TB", nodesep: 22, ranksep: 34, marginx: GAP, marginy: GAP, ranker });
    graph.setDefaultEdgeLabel(() => ({}));
    for (const [id, width, height] of nodes) graph.setNode(id, { width, height });
    for (const [from, to] of edges) graph.setEdge(from, to);
    dagre.layout(graph);
    return graph;
  }

  function layout() {
    const inside = new Map(); // the layout of each open part
    const outer = [], places = new Map(), routes = new Map();
    const outerOf = (layer) => {
      const part = model.nodes[layer].part;
      return part === null ? layerId(layer) : partId(part);
    };
    const outerEdges = new Set(), innerEdges = model.parts.map(() => new Set());
    for (const edge of model.edges) {
      const [from, to] = [outerOf(edge.from), outerOf(edge.to)];
      if (from !== to) outerEdges.add(`${from} ${to}`);
      else if (edge.from !== edge.to) innerEdges[model.nodes[edge.from].part].add(`${layerId(edge.from)} ${layerId(edge.to)}`);
    }
    model.parts.forEach((_, part) => {
      if (folded.has(part)) return outer.push([partId(part), WIDTH + 20, HEIGHT + 12]);
      const nodes = members[part].map((layer) => [layerId(layer), WIDTH, HEIGHT]);
      const graph = laidOut(nodes, [...innerEdges[part]].map((text) => text.split(" ")));
      inside.set(part, graph);
      outer.push([partId(part), graph.graph().width, graph.graph().height + TITLE]);
    });
    model.nodes.forEach((node, index) => {
      if (node.part === null) outer.push([layerId(index), WIDTH, HEIGHT]);
    });
    const graph = laidOut(outer, [...outerEdges].map((text) => text.split(" ")));
    for (const [id] of outer) places.set(id, graph.node(id));
    for (const [part, inner] of inside) {
      const box = graph.node(partId(part));
      const [left, top] = [box.x - box.width / 2, box.y - box.height / 2 + TITLE];
      for (const id of inner.nodes()) {
        const { x, y } = inner.node(id);
        places.set(id, { x: x + left, y: y + top, width: WIDTH, height: HEIGHT });
      }
      for (const edge of inner.edges()) {
        const points = inner.edge(edge).points.map(({ x, y }) => ({ x: x + left, y: y + top }));
        routes.set(`${edge.v} ${edge.w}`, points);
      }
    }
    for (const edge of graph.edges()) routes.set(`${edge.v} ${edge.w}`, graph.edge(edge).points);
    const { width, height } = graph.graph();
    return { places, routes, outerOf, size: [Math.max(width, 1), Math.max(height, 1)] };
  }

  // ---- drawing ------------------------------------------------------------------------------------

  function toneOf(item) {
    const layers = layersOf(item).map((layer) => model.nodes[layer]);
    if (state.color === "time") {
      const share = shareOf(item);
      return share === null ? "none" : `heat${STEPS.filter((step) => share >= step).length}`;
    }
    if (state.color === "verdict") {
      const known = layers.map((node) => node.verdict).filter(Boolean);
      if (!known.length) return "none";
      return known.some((verdict) => verdict.is_wrong) ? "wrong" : "right";
    }
    const backend = layers[0].backend;
    return backend ? `tone${model.backends.indexOf(backend) % 8}` : "none";
  }

  function shareOf(item) {
    const own = item[0] === "p" ? model.parts[+item.slice(1)].time : null;
    const times = layersOf(item).map((layer) => model.nodes[layer].time).filter(Boolean);
    if (own) times.push(own);
    return times.length ? times.reduce((sum, time) => sum + time.share, 0) : null;
  }

  function label(item) {
    const [first] = layersOf(item);
    if (item[0] === "p") {
      const part = model.parts[+item.slice(1)];
      return [plural(part.layers, "layer"), part.title];
    }
    return [model.nodes[first].type, model.nodes[first].name];
  }

  function described(item) {
    const [kind, name] = label(item);
    const { backend } = model.nodes[layersOf(item)[0]];
    const what = item[0] === "p" ? `Part ${name}, ${kind}` : `${kind} ${name}`;
    const converted = layersOf(item).some((layer) => model.nodes[layer].conversion) ? ", with conversions" : "";
    return `${what}${backend ? ` on ${backend}` : ""}${converted}`;
  }

  function nodeShape(item, place) {
    const tone = toneOf(item);
    const layers = layersOf(item).map((layer) => model.nodes[layer]);
    const group = shape("g", {
      class: `node${item[0] === "p" ? " folded" : ""}${layers.some((node) => node.refusals.length) ? " refused" : ""}`,
      "data-item": item, tabindex: "-1", role: "button", "aria-label": described(item),
      ...(item[0] === "p" ? { "aria-expanded": "false" } : {}),
      transform: `translate(${place.x - place.width / 2} ${place.y - place.height / 2})`,
    });
    const ink = tone === "none" ? " onnone" : "";
    const [kind, name] = label(item);
    group.append(
      shape("title", {}, described(item)),
      shape("rect", { width: place.width, height: place.height, rx: 6, class: tone }),
      shape("text", { x: place.width / 2, y: place.height / 2 - 4, class: `kind${ink}` }, shortened(kind)),
      shape("text", { x: place.width / 2, y: place.height / 2 + 12, class: `name${ink}` }, shortened(name)),
    );
    if (layers.some((node) => node.conversion)) group.append(shape("text", { x: place.width - 11, y: 14, class: `mark${ink}` }, CONVERTED));
    return group;
  }

  function boxShape(part, place) {
    const { title, backend, layers } = model.parts[part];
    const text = `${backend}: ${plural(layers, "layer")}`;
    const group = shape("g", {
      class: "node box", "data-item": `b${part}`, tabindex: "-1", role: "button",
      "aria-label": `Part ${title}, ${text}`, "aria-expanded": "true",
      transform: `translate(${place.x - place.width / 2} ${place.y - place.height / 2})`,
    });
    group.append(
      shape("title", {}, `${title} (Enter folds it)`),
      shape("rect", { width: place.width, height: place.height, rx: 8, "pointer-events": "all" }),
    );
    return group;
  }

  function boxTitle(part, place) { // apart from its box, as edges are drawn in between
    const { backend, layers } = model.parts[part];
    const text = shortened(`${backend}: ${plural(layers, "layer")}`, Math.max(LONGEST, Math.floor(place.width / 8)));
    return shape("text", { class: "title", "aria-hidden": "true", x: place.x - place.width / 2 + 10, y: place.y - place.height / 2 + 16 }, `− ${text}`);
  }

  function edgeShape(edge, drawn) {
    const [from, to] = [itemOf(edge.from), itemOf(edge.to)];
    if (from === to || drawn.has(`${from} ${to}`)) return null;
    drawn.add(`${from} ${to}`);
    const [source, target] = [state.places.get(from), state.places.get(to)];
    const outer = [state.outerOf(edge.from), state.outerOf(edge.to)];
    const isInside = outer[0] === outer[1];
    const route = state.routes.get(isInside ? `${from} ${to}` : outer.join(" ")) || [];
    const points = [
      { x: source.x, y: source.y + source.height / 2 },
      ...route.slice(isInside || outer[0] === from ? 1 : 0, isInside || outer[1] === to ? -1 : undefined),
      { x: target.x, y: target.y - target.height / 2 },
    ];
    const group = shape("g", {
      class: `edge${edge.border ? ` border ${edge.border}` : ""}`, "data-from": from, "data-to": to,
    });
    const end = points[points.length - 1];
    group.append(
      shape("title", {}, edge.border ? `${edge.tensor} (${edge.border} between backends)` : edge.tensor),
      shape("path", { d: curve(points) }),
      shape("path", { class: "tip", d: `M${end.x} ${end.y}l-4 -7h8z` }),
    );
    if (edge.border) {
      const middle = points[Math.floor(points.length / 2)];
      const size = edge.bytes === null ? "" : ` ${counted(edge.bytes)} B`;
      group.append(shape("text", { x: middle.x + 8, y: middle.y + 4 }, `${edge.border}${size}`));
    }
    return group;
  }

  function curve(points) {
    let path = `M${points[0].x} ${points[0].y}`;
    for (let index = 1; index < points.length; index += 1) {
      const [before, now] = [points[index - 1], points[index]];
      const middle = (before.y + now.y) / 2;
      path += `C${before.x} ${middle} ${now.x} ${middle} ${now.x} ${now.y}`;
    }
    return path;
  }

  function draw() {
    Object.assign(state, layout());
    const boxes = [], titles = [], nodes = [], drawn = new Set();
    model.parts.forEach((_, part) => {
      const place = state.places.get(partId(part));
      if (folded.has(part)) nodes.push(nodeShape(partId(part), place));
      else {
        boxes.push(boxShape(part, place));
        titles.push(boxTitle(part, place));
      }
    });
    model.nodes.forEach((_, index) => {
      if (itemOf(index) === layerId(index)) nodes.push(nodeShape(layerId(index), state.places.get(layerId(index))));
    });
    const edges = model.edges.map((edge) => edgeShape(edge, drawn)).filter(Boolean);
    byId("graph").replaceChildren(...boxes, ...edges, ...titles, ...nodes);
    byId("fold").textContent = folded.size < model.parts.length ? "Fold all parts" : "Open all parts";
    byId("fold").disabled = !model.parts.length;
    zoom(state.scale);
    mark();
    legend();
  }

  function legend() {
    let rows;
    if (state.color === "time") {
      rows = [["none", "no time"], ...["less than 1 %", "1 %", "3 %", "10 %", "25 % or more"].map((text, step) => [`heat${step}`, text])];
    } else if (state.color === "verdict") {
      rows = [["none", "agrees at its borders"], ["right", "right"], ["wrong", "wrong"]];
    } else {
      rows = model.backends.map((backend, index) => {
        const layers = model.nodes.filter((node) => node.backend === backend).length;
        return [`tone${index % 8}`, `${backend}: ${plural(layers, "layer")}`];
      });
    }
    const sample = (attributes, mark) => shape("svg", { viewBox: "0 0 12 12", "aria-hidden": "true", ...attributes }, mark);
    const items = rows.map(([tone, text]) => [sample({}, shape("rect", { width: 12, height: 12, rx: 3, class: tone })), text]);
    if (model.nodes.some((node) => node.refusals.length)) {
      items.push([sample({ class: "refused" }, shape("rect", { x: 1, y: 1, width: 10, height: 10, rx: 3, class: "none" })), "refused by a preferred backend"]);
    }
    if (model.nodes.some((node) => node.conversion)) items.push([`${CONVERTED} `, "between conversions or transposes"]);
    for (const [border, text] of [["shared", "between backends, memory shared"], ["copied", "between backends, copied"]]) {
      if (model.edges.some((edge) => edge.border === border))
        items.push([sample({ class: `line ${border}` }, shape("path", { d: "M0 6H12" })), text]);
    }
    byId("legend").replaceChildren(...items.map((parts) => element("li", {}, ...parts)));
  }

  function zoom(scale) {
    state.scale = Math.min(Math.max(scale, 0.05), 4);
    const [width, height] = state.size;
    const svg = byId("graph");
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("width", width * state.scale);
    svg.setAttribute("height", height * state.scale);
  }

  function fit() {
    const canvas = byId("canvas"), [width, height] = state.size;
    zoom(Math.min(canvas.clientWidth / width, canvas.clientHeight / height, 1.2));
  }

  // ---- details -------------------------------------------------------------------------------------

  function rowsTable(rows) {
    return element("table", {}, element("tbody", {}, ...rows.map(([name, value]) =>
      element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, value)))));
  }

  function section(title, ...content) {
    return content.length ? [element("h3", {}, title), ...content] : [];
  }

  function timeRows(time) {
    if (!time) return [];
    const rows = [["time", `${time.milliseconds.toFixed(3)} ms`], ["share", percent(time.share)]];
    return time.gflops ? [...rows, ["speed", `${time.gflops.toFixed(2)} GFLOP/s`]] : rows;
  }

  function tensorText({ text, scales, zero_points: points, axis }) {
    if (!scales || scales.length < 2) return text;
    return `${text}: scales ${scales.join(", ")}; zero points ${points.join(", ")}; axis ${axis}`;
  }

  function verdictRows(verdict) {
    if (!verdict) return [];
    const rows = [["verdict", verdict.is_wrong ? verdict.kind : "right"]];
    if (verdict.largest) rows.push(["largest error", `${verdict.largest.toPrecision(3)} ${verdict.unit}`]);
    if (verdict.ratio) rows.push(["of what rounding explains", `${verdict.ratio.toPrecision(3)} times`]);
    if (verdict.together.length > 1) rows.push(["together with", verdict.together.join(", ")]);
    return verdict.note ? [...rows, ["note", verdict.note]] : rows;
  }

  function layerDetails(index) {
    const node = model.nodes[index];
    const part = node.part === null ? [] : [[model.parts[node.part].block ? "in the block" : "compiled into", model.parts[node.part].title]];
    const facts = [
      ["type", node.type], ...(node.backend ? [["backend", node.backend]] : []), ...part,
      ...(node.weights ? [["weights", counted(node.weights)]] : []),
      ...(node.multiply_adds === 0 ? [] : [["multiply-adds", counted(node.multiply_adds)]]),
      ...timeRows(node.time), ...verdictRows(node.verdict),
    ];
    const inputs = node.inputs.map((input) =>
      [input.slot, `${tensorText(input.tensor)} ${input.is_constant ? "(constant)" : `from ${input.source}`}`]);
    const refusals = [...node.refusals, ...(node.conversion ? [["conversion", node.conversion]] : [])];
    return [
      element("h2", {}, node.name), rowsTable(facts),
      ...(node.parameters.length ? section("Parameters that differ from the defaults", rowsTable(node.parameters)) : []),
      ...(inputs.length ? section("Inputs", rowsTable(inputs)) : []),
      ...(node.outputs.length ? section("Outputs", rowsTable(node.outputs.map((tensor, number) => [String(number), tensorText(tensor)]))) : []),
      ...(refusals.length ? section("Refused by, and why", rowsTable(refusals)) : []),
    ];
  }

  function partDetails(index) {
    const part = model.parts[index];
    const memory = part.footprint ? Object.entries(part.footprint).filter(([, value]) => typeof value === "number") : [];
    const share = shareOf(partId(index));
    return [
      element("h2", {}, part.title),
      rowsTable([
        ["backend", part.backend], ["layers", String(part.layers)],
        ...(share === null ? [] : [["share", percent(share)]]),
        ...memory.map(([name, value]) => [name.replaceAll("_", " "), counted(value)]),
      ]),
      ...section("Layers", element("ul", {}, ...members[index].map((layer) => element("li", {}, `${model.nodes[layer].type} ${model.nodes[layer].name}`)))),
    ];
  }

  function showDetails() {
    const item = state.chosen;
    const content = item === null ? [] : item[0] === "l" ? layerDetails(+item.slice(1)) : partDetails(+item.slice(1));
    byId("details").replaceChildren(...content);
    byId("list").hidden = item !== null;
  }

  const isWrong = (index) => Number(model.nodes[index].verdict?.is_wrong ?? false);

  function list() {
    const timed = model.is_timed, compared = model.is_compared;
    const heads = ["layer", "backend", ...(timed ? ["ms", "share"] : []), ...(compared ? ["verdict"] : [])];
    const order = model.nodes.map((_, index) => index).filter((index) => model.nodes[index].backend);
    if (timed) order.sort((one, other) => (model.nodes[other].time?.share ?? -1) - (model.nodes[one].time?.share ?? -1));
    else if (compared) order.sort((one, other) => isWrong(other) - isWrong(one)); // stable
    const rows = order.map((index) => {
      const { name, type, backend, time, verdict } = model.nodes[index];
      const cells = [element("td", {}, name, element("small", {}, type)), element("td", {}, backend)];
      if (timed) cells.push(
        element("td", { class: "number" }, time ? time.milliseconds.toFixed(3) : ""),
        element("td", { class: "number" }, time ? percent(time.share) : ""));
      if (compared) cells.push(element("td", {}, verdict ? (verdict.is_wrong ? verdict.kind : "right") : ""));
      const row = element("tr", { "data-layer": index, tabindex: "-1" }, ...cells);
      row.addEventListener("click", () => reveal(index));
      return row;
    });
    byId("list").replaceChildren(
      element("h3", {}, "Layers"),
      element("table", {}, element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))), element("tbody", {}, ...rows)));
    rows[0]?.setAttribute("tabindex", "0"); // one stop of the Tab key; arrows go from row to row
  }

  function onListKey(event, row) {
    const next = { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling }[event.key];
    if (event.key === "Enter") reveal(+row.dataset.layer);
    else if (next) {
      row.setAttribute("tabindex", "-1");
      next.setAttribute("tabindex", "0");
      next.focus();
    }
  }

  // ---- choosing, folding, searching -------------------------------------------------------------------

  const shapeOf = (item) => byId("graph").querySelector(`[data-item="${item}"]`);

  function choose(item, takesFocus = true) {
    state.chosen = item;
    mark();
    showDetails();
    const found = item === null ? null : shapeOf(item);
    if (found === null) return;
    if (takesFocus) found.focus({ preventScroll: true });
    found.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  function mark() {
    for (const group of byId("graph").querySelectorAll(".node")) {
      const isChosen = group.dataset.item === state.chosen;
      group.classList.toggle("chosen", isChosen);
      group.setAttribute("tabindex", isChosen ? "0" : "-1");
    }
    for (const group of byId("graph").querySelectorAll(".edge"))
      group.classList.toggle("chosen", [group.dataset.from, group.dataset.to].includes(state.chosen));
    if (state.chosen === null || !shapeOf(state.chosen))
      byId("graph").querySelector(".node")?.setAttribute("tabindex", "0"); // one stop of the Tab key
  }

  function fold(part, isFolded) {
    if (isFolded) folded.add(part);
    else folded.delete(part);
    draw();
    choose(isFolded ? partId(part) : `b${part}`);
  }

  function reveal(layer) {
    const part = model.nodes[layer].part;
    if (part !== null && folded.has(part)) {
      folded.delete(part);
      draw();
    }
    choose(layerId(layer));
  }

  function search() {
    const wanted = byId("search").value.trim().toLowerCase();
    const hits = model.nodes.map((_, index) => index).filter((index) => {
      const { name, type } = model.nodes[index];
      return `${name}\n${type}`.toLowerCase().includes(wanted);
    });
    const items = new Set(hits.map(itemOf));
    for (const group of byId("graph").querySelectorAll(".node:not(.box)"))
      group.classList.toggle("faded", wanted !== "" && !items.has(group.dataset.item));
    byId("hits").textContent = wanted === "" ? "" : `${hits.length} found`;
    return wanted === "" ? [] : hits;
  }

  function neighbor(item, forwards) {
    const layers = new Set(item[0] === "b" ? members[+item.slice(1)] : layersOf(item));
    const [here, there] = forwards ? ["from", "to"] : ["to", "from"];
    const edge = model.edges.find((each) => layers.has(each[here]) && !layers.has(each[there]));
    return edge ? itemOf(edge[there]) : null;
  }

  function sibling(item, step) {
    const place = state.places.get(item.replace("b", "p"));
    const same = [...byId("graph").querySelectorAll(".node:not(.box)")].map((group) => group.dataset.item)
      .filter((each) => Math.abs(state.places.get(each).y - place.y) < HEIGHT)
      .sort((one, other) => state.places.get(one).x - state.places.get(other).x);
    return same[same.indexOf(item) + step] ?? null;
  }

  const isPart = (item) => item !== null && item[0] !== "l";

  function activate(item) {
    if (isPart(item)) fold(+item.slice(1), item[0] === "b");
    else choose(item);
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isTyping = ["INPUT", "SELECT"].includes(event.target.tagName);
    if (event.key === "Escape") {
      byId("search").value = "";
      search();
      choose(null);
      byId("canvas").focus();
    } else if (isTyping) {
      return;
    } else if (event.key === "/") {
      byId("search").focus();
    } else if (event.key === "f") {
      fit();
    } else if (event.key === "+" || event.key === "-") {
      zoom(state.scale * (event.key === "+" ? 1.25 : 0.8));
    } else if (event.target.tagName === "BUTTON" || event.target.tagName === "A") {
      return;
    } else if (event.target.dataset?.layer !== undefined) {
      onListKey(event, event.target);
    } else {
      const focused = event.target.closest?.(".node")?.dataset.item ?? state.chosen;
      const first = model.nodes.length ? itemOf(0) : null;
      const next = {
        ArrowDown: () => (focused ? neighbor(focused, true) : first),
        ArrowUp: () => (focused ? neighbor(focused, false) : first),
        ArrowRight: () => (focused ? sibling(focused, 1) : first),
        ArrowLeft: () => (focused ? sibling(focused, -1) : first),
      }[event.key];
      if (next) {
        const item = next();
        if (item !== null) choose(item);
      } else if ((event.key === "Enter" || event.key === " ") && focused) {
        activate(focused);
      } else {
        return;
      }
    }
    event.preventDefault();
  }

  // ---- the timeline, which is Perfetto's business ---------------------------------------------------

  const PERFETTO = "https://ui.perfetto.dev";

  function handOver(buffer, title) { // its documented protocol: PING until PONG, then the trace
    const other = window.open(PERFETTO);
    if (other === null) return;
    const pings = setInterval(() => (other.closed ? stop() : other.postMessage("PING", PERFETTO)), 100);
    const stop = () => {
      clearInterval(pings);
      window.removeEventListener("message", answer);
    };
    const answer = (event) => {
      if (event.source !== other || event.data !== "PONG") return;
      stop();
      other.postMessage({ perfetto: { buffer, title } }, PERFETTO);
    };
    window.addEventListener("message", answer);
  }

  function timeline() {
    const trace = JSON.parse(byId("trace").textContent);
    if (trace === null) return;
    byId("timeline").hidden = false;
    if (trace.content === null) {
      byId("save-part").hidden = true;
      byId("hint").textContent = `The trace is too large for this page: open ${trace.file} there.`;
      return;
    }
    const bytes = new TextEncoder().encode(JSON.stringify(trace.content));
    byId("save").setAttribute("download", trace.file);
    byId("save").href = URL.createObjectURL(new Blob([bytes], { type: "application/json" }));
    byId("perfetto").addEventListener("click", (event) => {
      event.preventDefault();
      handOver(bytes.buffer, model.name || trace.file);
      if (location.protocol === "file:") // an origin from which Perfetto may refuse it
        byId("hint").textContent = `If Perfetto stays empty, save the trace and drop it there: it may refuse pages that are files.`;
    });
  }

  function theme(name) {
    document.documentElement.dataset.theme = name;
    byId("theme").textContent = name === "dark" ? "Light" : "Dark";
  }

  function listen() {
    byId("graph").addEventListener("click", (event) => {
      const group = event.target.closest(".node");
      if (!group) return choose(null, false);
      const { item } = group.dataset;
      choose(item);
    });
    byId("graph").addEventListener("dblclick", (event) => {
      const item = event.target.closest(".node")?.dataset.item ?? null;
      if (isPart(item)) activate(item);
    });
    byId("search").addEventListener("input", search);
    byId("tools").addEventListener("submit", (event) => {
      event.preventDefault();
      const hits = search();
      if (hits.length) reveal(hits[(hits.indexOf(state.chosen?.[0] === "l" ? +state.chosen.slice(1) : -1) + 1) % hits.length]);
    });
    byId("color").addEventListener("change", (event) => {
      state.color = event.target.value;
      draw();
      search();
    });
    byId("fold").addEventListener("click", () => {
      const isOpen = folded.size < model.parts.length;
      model.parts.forEach((_, part) => (isOpen ? folded.add(part) : folded.delete(part)));
      draw();
      fit();
    });
    byId("fit").addEventListener("click", fit);
    byId("smaller").addEventListener("click", () => zoom(state.scale * 0.8));
    byId("larger").addEventListener("click", () => zoom(state.scale * 1.25));
    byId("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
    byId("canvas").addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      zoom(state.scale * (event.deltaY < 0 ? 1.1 : 0.9));
    }, { passive: false });
    document.addEventListener("keydown", onKey);
  }

  function start() {
    const { totals } = model;
    byId("title").textContent = model.name || "network";
    byId("totals").textContent = `${totals.layers} layers, ${counted(totals.weights)} weights (${counted(totals.weight_bytes)} bytes), ` +
      `multiply-adds: ${counted(totals.multiply_adds)}`;
    const [time, verdict] = ["time", "verdict"].map((name) => byId("color").querySelector(`[value="${name}"]`));
    time.disabled = !model.is_timed;
    verdict.disabled = !model.is_compared;
    state.color = model.is_compared ? "verdict" : model.is_timed ? "time" : "backend";
    byId("color").value = state.color;
    theme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    listen();
    list();
    timeline();
    draw();
    const canvas = byId("canvas");
    zoom(Math.min(1, Math.max(canvas.clientWidth / state.size[0], 0.3)));
    document.documentElement.dataset.ready = "true";
  }

  start();
})();
