'use strict';
/* The page's controls. All text comes from the recording and is only ever set as textContent. */
(function () {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId('data').textContent);

  /* ---- Reading numbers (viewer_code.h) ---- */

  const places = new Int8Array(128).fill(0);
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'.split('').forEach((c, i) => {
    places[c.charCodeAt(0)] = i;
  });

  function reader(text) {
    let at = 0;
    function next() {
      let value = 0, factor = 1, digit;
      do {
        digit = places[text.charCodeAt(at++)];
        value += (digit & 31) * factor;
        factor *= 32;
      } while (digit & 32);
      return value;
    }
    function signed() {
      const value = next();
      return value % 2 ? -(value + 1) / 2 : value / 2;
    }
    return {next: next, signed: signed, more: () => at < text.length};
  }

  function row(text, count) {
    const from = reader(text), out = new Float64Array(count);
    let last = 0;
    for (let i = 0; i < count && from.more();) {
      const step = from.signed();
      let equal = 1;
      if (step === 0) equal = from.next() + 1;
      last += step;
      while (equal-- > 0 && i < count) out[i++] = last;
    }
    return out;
  }

  /* ---- The recording ---- */

  const NATIVE = 0, USER = 4;      /* origins of frames (user_frame.h) */
  const count = data.count;        /* entries; the state before them is time 0, that after the i-th one is time i + 1 */
  const exact = data.exact || [];
  const frames = [], nodes = [], stacks = [], kinds = [], blocks = [], ranges = [], deaths = [];

  (function readAll() {
    let from = reader(data.frames);
    while (from.more()) frames.push({name: data.texts[from.next()], file: data.texts[from.next()], line: from.next(), origin: from.next()});
    from = reader(data.nodes);
    while (from.more()) {
      const back = from.next();
      nodes.push({parent: back === 0 ? -1 : nodes.length - back, frame: from.next()});
    }
    from = reader(data.stacks);
    while (from.more())
      stacks.push({node: from.next(), count: from.next(), total: from.next(), peak: from.next()});
    from = reader(data.kinds);
    while (from.more())
      kinds.push({size: from.next(), stack: from.next() - 1, groups: [from.next(), from.next(), from.next()]});
    from = reader(data.blocks);
    let birth = 0, address = 0;
    while (from.more()) {
      birth += from.next();
      const life = from.next(), kind = kinds[from.next()];
      if (data.placed) address += from.signed();
      blocks.push({birth: birth, end: life === 0 ? Infinity : birth + life, size: kind.size, stack: kind.stack,
                   groups: kind.groups, address: data.placed ? address * data.unit : -1, index: blocks.length});
    }
    from = reader(data.ranges);
    birth = address = 0;
    while (from.more()) {
      birth += from.next();
      const life = from.next();
      address += from.signed();
      const range = {birth: birth, end: life === 0 ? Infinity : birth + life, address: address * data.unit,
                     size: from.next() * data.unit, stream: from.next(), pool: from.next()};
      const flags = from.next();
      range.small = (flags & 1) !== 0;
      range.expandable = (flags & 2) !== 0;
      ranges.push(range);
    }
  })();
  blocks.forEach((block) => { if (block.end !== Infinity) deaths.push(block); });
  deaths.sort((a, b) => a.end - b.end);

  const columns = (function () {
    const c = data.columns, unit = c.unit;
    const scaled = (text) => row(text, c.count).map((value) => value * unit);
    const before = row(c.before, 1 + c.values.length).map((value) => value * unit);
    const out = {width: c.width, count: c.count, at: row(c.at, c.count), reserved: scaled(c.reserved), values: c.values.map(scaled),
                 reservedBefore: before[0], before: before.slice(1), totalBefore: 0};
    out.total = new Float64Array(c.count);
    const first = data.groupings[0].groups.length;
    for (let g = 0; g < first && g < out.values.length; g++) {
      out.totalBefore += out.before[g];
      for (let i = 0; i < c.count; i++) out.total[i] += out.values[g][i];
    }
    return out;
  })();

  const times = (function () {
    if (!data.times) return null;
    const from = reader(data.times), out = [];
    let now = 0;
    while (from.more()) out.push(now += from.next());
    return out;
  })();

  /* ---- Words ---- */

  /* As everywhere in whyoom, a whole 1024 of a unit is still in that unit; not on an axis, whose numbers are round. */
  function bytes(size, isRound) {
    const units = ['bytes', 'KiB', 'MiB', 'GiB'];
    let unit = 0;
    while ((isRound ? size >= 1024 : size > 1024) && unit + 1 < units.length) {
      size /= 1024;
      unit++;
    }
    return (unit === 0 ? String(Math.round(size)) : size.toFixed(2)) + ' ' + units[unit];
  }

  const number = (value) => value.toLocaleString('en');
  const many = (value, one, more) => number(value) + ' ' + (value === 1 ? one : more);

  function duration(us) {
    if (us < 1000) return us.toFixed(0) + ' us';
    return us < 1e6 ? (us / 1000).toFixed(1) + ' ms' : (us / 1e6).toFixed(3) + ' s';
  }

  /* Microseconds since the first entry shown, between samples by their distance; NaN if not known. The last entry is a sample. */
  function timeAt(t) {
    if (!times || t < 1) return NaN;
    const step = data.timestep, low = Math.min(Math.floor((t - 1) / step), times.length - 1), high = Math.min(low + 1, times.length - 1);
    const from = Math.min(low * step, count - 1), to = Math.min(high * step, count - 1);
    return high === low || to === from ? times[low] : times[low] + (times[high] - times[low]) * (t - 1 - from) / (to - from);
  }
  const isSample = (t) => (t - 1) % data.timestep === 0 || t === count;

  const entryName = (t) => t > 0 ? 'after entry ' + number(data.first + t - 1) :
    data.first > 0 ? 'before entry ' + number(data.first) : 'before the first entry';
  const isExact = (from, to) => data.all || exact.some((window) => from >= window[0] && to <= window[1]);
  const isAt = (life, t) => life.birth <= t && life.end > t;

  function frameText(frame) {
    const known = frame.file && frame.file !== '??';
    return frame.name + (known ? '  ' + frame.file + (frame.line > 0 ? ':' + frame.line : '') : '');
  }

  /* The frames of a stack, innermost first. */
  function framesOf(stack) {
    const out = [];
    for (let node = stack < 0 ? -1 : stacks[stack].node; node >= 0; node = nodes[node].parent) out.push(frames[nodes[node].frame]);
    return out;
  }

  /* Frames of C++ tell little where there are others: they are shown if they are asked for. `most` limits the list. */
  function fillStack(list, stack, most) {
    const all = framesOf(stack), known = all.filter((frame) => frame.origin > NATIVE);
    const isFull = byId('native').checked || known.length === 0, shown = isFull ? all : known;
    list.textContent = '';
    shown.slice(0, most).forEach((frame) => {
      list.append(element('li', frameText(frame), frame.origin === USER ? 'own' : frame.origin === NATIVE ? 'muted' : undefined));
    });
    if (shown.length > most) list.append(element('li', 'and ' + (shown.length - most) + ' more: click to see all', 'muted'));
    if (all.length === 0) list.append(element('li', stack < 0 ? 'no stack of it is in the page' : 'no stack recorded', 'muted'));
  }

  function element(name, text, classes) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (classes) made.className = classes;
    return made;
  }

  function summary(block, t) {
    const since = block.birth === 0 ? 'there before the first entry shown' : 'since entry ' + number(data.first + block.birth - 1);
    const age = block.birth === 0 ? '' : ', ' + many(t - block.birth, 'entry', 'entries') + ' old';
    const us = block.birth === 0 ? NaN : timeAt(t) - timeAt(block.birth), about = isSample(t) && isSample(block.birth) ? '' : 'about ';
    const until = block.end === Infinity ? 'to the end' : 'freed by entry ' + number(data.first + block.end - 1);
    const named = data.groupings.slice(1).map((grouping, i) => grouping.groups[block.groups[i + 1]]).join(', ');
    return bytes(block.size) + ', ' + named + ', ' + since + age + (us >= 0 ? ' (' + about + duration(us) + ')' : '') + ', ' + until +
      (block.address >= 0 ? ', at 0x' + block.address.toString(16) : '');
  }

  /* ---- State ---- */

  const canvas = byId('time'), map = byId('map');
  const axisLeft = 64, axisBottom = 38, axisTop = 18;
  const view = {from: 0, to: count + 1};
  const state = {grouping: 0, t: data.peak[0], block: null, matches: null, found: null, shown: null, places: []};
  if (data.ooms.length > 0) state.t = data.ooms[0][0];
  let colours = {};

  function readColours() {
    const style = getComputedStyle(document.documentElement);
    const get = (name) => style.getPropertyValue(name).trim();
    colours = {ink: get('--ink'), muted: get('--muted'), grid: get('--grid'), page: get('--page'), bad: get('--bad'), free: get('--free'),
               accent: get('--accent'), groups: []};
    data.groupings.forEach((grouping, i) => {
      const prefix = i === 1 ? '--c' : '--s', last = grouping.groups.length - 1;
      colours.groups.push(grouping.groups.map((_, k) => get(i === 1 || k < last ? prefix + k : '--rest')));
    });
  }

  const groupFirst = (function () {
    const out = [];
    data.groupings.reduce((sum, grouping) => { out.push(sum); return sum + grouping.groups.length; }, 0);
    return out;
  })();

  /* ---- Sums for each column of pixels ---- */

  /* The state of the blocks of the page, going on in time. */
  function walker(groups) {
    const sums = new Float64Array(groups);
    let born = 0, dead = 0;
    const at = {sums: sums, total: 0, matched: 0};
    function change(block, sign) {
      sums[block.groups[state.grouping]] += sign * block.size;
      at.total += sign * block.size;
      if (state.matches && block.stack >= 0 && state.matches[block.stack]) at.matched += sign * block.size;
    }
    at.to = function (t) {
      while (born < blocks.length && blocks[born].birth <= t) change(blocks[born++], 1);
      while (dead < deaths.length && deaths[dead].end <= t) change(deaths[dead++], -1);
    };
    at.next = function () {
      const birth = born < blocks.length ? blocks[born].birth : Infinity, death = dead < deaths.length ? deaths[dead].end : Infinity;
      return Math.min(birth, death);
    };
    return at;
  }

  /* The moment of most bytes in times [from, to), which the walker has not passed. */
  function exactPixel(walk, from, to) {
    walk.to(from);
    const best = {t: from, total: walk.total, sums: walk.sums.slice(), matched: walk.matched};
    for (let t = walk.next(); t < to; t = walk.next()) {
      walk.to(t);
      if (walk.total <= best.total) continue;
      best.t = t;
      best.total = walk.total;
      best.sums.set(walk.sums);
      best.matched = walk.matched;
    }
    return best;
  }

  function columnRange(from, to) {
    const low = Math.max(0, Math.floor((from - 1) / columns.width)), high = Math.max(low, Math.ceil((to - 1) / columns.width) - 1);
    return [Math.min(low, columns.count - 1), Math.min(high, columns.count - 1)];
  }

  function reservedIn(from, to) {
    const range = columnRange(from, to);
    let most = from === 0 ? columns.reservedBefore : 0;
    if (to === 1) return most;
    for (let i = range[0]; i <= range[1]; i++) most = Math.max(most, columns.reserved[i]);
    return most;
  }

  /* The moment of most bytes of the columns that have times [from, to); the state before the first entry is in none of them. */
  function columnPixel(walk, from, to, groups) {
    const range = columnRange(from, to), first = groupFirst[state.grouping];
    let best = range[0];
    for (let i = range[0]; i <= range[1]; i++) {
      if (columns.total[i] > columns.total[best]) best = i;
    }
    const isBefore = from === 0 && (to === 1 || columns.totalBefore >= columns.total[best]);
    const total = isBefore ? columns.totalBefore : columns.total[best], sums = new Float64Array(groups);
    for (let g = 0; g < groups; g++) sums[g] = isBefore ? columns.before[first + g] : columns.values[first + g][best];
    walk.to(Math.floor(to) - 1 < from ? from : Math.floor(to) - 1);
    return {t: isBefore ? 0 : best * columns.width + columns.at[best], total: total, sums: sums, matched: Math.min(walk.matched, total)};
  }

  function pixelsOf(width) {
    const out = [], groups = data.groupings[state.grouping].groups.length, walk = walker(groups);
    const step = (view.to - view.from) / width;
    let last = null, lastFrom = -1, lastTo = -1;
    for (let x = 0; x < width; x++) {
      const from = Math.floor(view.from + x * step), to = Math.max(from + 1, Math.floor(view.from + (x + 1) * step));
      if (from !== lastFrom || to !== lastTo) {
        last = isExact(from, to - 1) ? exactPixel(walk, from, to) : columnPixel(walk, from, to, groups);
        last.reserved = reservedIn(from, to);
        last.isOne = to === 1 || (to - from === 1 && columns.width === 1);
        lastFrom = from;
        lastTo = to;
      }
      out.push(last);
    }
    return out;
  }

  /* ---- The time line ---- */

  function prepare(surface, height) {
    const scale = window.devicePixelRatio || 1, width = Math.max(320, surface.clientWidth);
    surface.width = Math.round(width * scale);
    surface.height = Math.round(height * scale);
    surface.style.height = height + 'px';
    const pen = surface.getContext('2d');
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = '12px system-ui, sans-serif';
    return {pen: pen, width: width, height: height};
  }

  function niceStep(most, ticks, base) {
    let step = 1;
    const steps = base === 1024 ? [2, 2, 2, 2, 2, 2, 2, 2, 2, 2] : [2, 2.5, 2];
    for (let i = 0; most / step > ticks; i++) step *= steps[i % steps.length];
    return step;
  }

  function drawAxes(area) {
    const pen = area.pen, step = niceStep(area.most, 6, 1024), entries = view.to - view.from;
    pen.lineWidth = 1;
    pen.textBaseline = 'middle';
    pen.textAlign = 'right';
    for (let value = 0; value <= area.most; value += step) {
      const y = Math.round(area.y(value)) + 0.5;
      pen.strokeStyle = colours.grid;
      pen.beginPath();
      pen.moveTo(axisLeft, y);
      pen.lineTo(area.right, y);
      pen.stroke();
      pen.fillStyle = colours.muted;
      pen.fillText(value === 0 ? '0' : bytes(value, true).replace('.00', ''), axisLeft - 6, y);
    }
    pen.textBaseline = 'top';
    const tick = niceStep(entries, Math.max(2, Math.floor((area.right - axisLeft) / 110)), 10);
    const lowest = Math.max(data.first, data.first + view.from - 1);
    for (let entry = Math.ceil(lowest / tick) * tick; entry - data.first + 1 < view.to; entry += tick) {
      const t = entry - data.first + 1, x = area.x(t), us = timeAt(t);
      pen.textAlign = x > area.right - 40 ? 'right' : x < axisLeft + 40 ? 'left' : 'center';
      pen.fillText(number(entry), x, area.bottom + 7);
      if (us >= 0) pen.fillText((isSample(t) ? '' : '~') + duration(us), x, area.bottom + 22);
    }
    pen.textAlign = 'right';
    pen.fillText('entry', axisLeft - 6, area.bottom + 7);
    if (times) pen.fillText('time', axisLeft - 6, area.bottom + 22);
  }

  /* Blocks in view, lowest first; too many are not drawn one by one. */
  function blocksInView() {
    const out = [];
    if (!isExact(Math.floor(view.from), Math.ceil(view.to) - 1)) return out;
    for (const block of blocks) {
      if (block.birth < view.to && block.end > view.from) out.push(block);
      if (out.length > 6000) return [];
    }
    return out.sort((a, b) => a.groups[state.grouping] - b.groups[state.grouping] || a.index - b.index);
  }

  function drawBlocks(area, pixels) {
    const list = blocksInView(), pen = area.pen, scale = (area.bottom - axisTop) / area.most;
    let last = null, lines = [], chosen = null, matched = [];
    for (let x = 0; x < pixels.length; x++) {
      if (pixels[x] !== last) {
        last = pixels[x];
        lines = [];
        matched = [];
        chosen = null;
        let sum = 0;
        for (const block of list) {
          if (!isAt(block, last.t)) continue;
          const low = sum;
          sum += block.size;
          if (block.size * scale >= 2.5) lines.push(sum);
          if (block === state.block) chosen = [low, sum];
          if (state.matches && block.stack >= 0 && state.matches[block.stack]) matched.push([low, sum]);
        }
      }
      pen.fillStyle = colours.page;
      pen.globalAlpha = 0.55;
      for (const line of lines) pen.fillRect(axisLeft + x, area.y(line), 1, 0.7);
      pen.globalAlpha = 1;
      pen.fillStyle = colours.accent;
      for (const part of matched) pen.fillRect(axisLeft + x, area.y(part[1]), 1, Math.max(1, (part[1] - part[0]) * scale));
      if (chosen) {
        pen.fillStyle = colours.ink;
        pen.fillRect(axisLeft + x, area.y(chosen[1]), 1, Math.max(2, (chosen[1] - chosen[0]) * scale));
      }
    }
    return list.length > 0;
  }

  function drawMark(area, t, text, colour, line, row_) {
    const pen = area.pen, x = area.x(t);
    if (x < axisLeft || x > area.right) return;
    pen.strokeStyle = pen.fillStyle = colour;
    pen.beginPath();
    pen.moveTo(x, axisTop - 4);
    pen.lineTo(x, line ? area.bottom : axisTop);
    pen.stroke();
    pen.textBaseline = 'bottom';
    pen.textAlign = x > area.right - 160 ? 'right' : 'left';
    pen.lineWidth = 3;
    pen.strokeStyle = colours.page;
    const at = x + (pen.textAlign === 'left' ? 4 : -4), y = axisTop - 2 + 15 * row_;
    pen.strokeText(text, at, y);
    pen.fillText(text, at, y);
    pen.lineWidth = 1;
  }

  function drawMarks(area) {
    const pen = area.pen;
    pen.setLineDash([2, 3]);
    pen.strokeStyle = colours.muted;
    data.marks.forEach((mark) => {
      const x = area.x(mark);
      if (x < axisLeft || x > area.right) return;
      pen.beginPath();
      pen.moveTo(x, axisTop);
      pen.lineTo(x, area.bottom);
      pen.stroke();
    });
    pen.setLineDash([]);
    drawMark(area, data.peak[0] + 0.5, 'peak ' + bytes(data.peak[1]), colours.ink, false, data.ooms.length > 0 ? 1 : 0);
    data.ooms.forEach((oom, i) => drawMark(area, oom[0] + 0.5, i === 0 ? 'out of memory: ' + bytes(oom[1]) + ' refused' : '', colours.bad, true, 0));
    pen.strokeStyle = colours.ink;
    pen.lineWidth = 1.5;
    const x = area.x(state.t + 0.5);
    if (x < axisLeft || x > area.right) return;
    pen.beginPath();
    pen.moveTo(x, axisTop);
    pen.lineTo(x, area.bottom + 4);
    pen.stroke();
  }

  /* For those who do not see the canvas, and for tests. */
  function describeTime() {
    const from = Math.max(0, Math.floor(view.from) - 1), to = Math.min(count, Math.ceil(view.to) - 1);
    canvas.dataset.from = String(data.first + from);
    canvas.dataset.to = String(data.first + Math.max(0, to - 1));
    canvas.dataset.moment = state.t === 0 ? '' : String(data.first + state.t - 1);
    canvas.setAttribute('aria-label', 'Memory in use over time, entries ' + canvas.dataset.from + ' to ' + canvas.dataset.to + '; ' +
      usedText(sumsAt(state.t)) + '; the peak is ' + bytes(data.peak[1]));
  }

  function drawTime() {
    const height = Math.max(220, Math.min(420, Math.round(window.innerHeight * 0.5)));
    const sheet = prepare(canvas, height), pen = sheet.pen;
    const right = sheet.width - 8, bottom = height - axisBottom, width = Math.max(10, Math.floor(right - axisLeft));
    const pixels = pixelsOf(width);
    let most = 1;
    for (const pixel of pixels) most = Math.max(most, pixel.total, pixel.reserved);
    most *= 1.04;
    const area = {pen: pen, right: right, bottom: bottom, most: most,
                  x: (t) => axisLeft + (t - view.from) / (view.to - view.from) * width,
                  y: (value) => bottom - (bottom - axisTop) * value / most};
    const colour = colours.groups[state.grouping];
    pen.globalAlpha = state.matches ? 0.3 : 1;
    for (let x = 0; x < width; x++) {
      let sum = 0;
      for (let g = 0; g < colour.length; g++) {
        const part = pixels[x].sums[g];
        if (part <= 0) continue;
        const y = area.y(sum + part);
        pen.fillStyle = colour[g];
        pen.fillRect(axisLeft + x, y, 1, area.y(sum) - y);
        sum += part;
      }
    }
    pen.globalAlpha = 1;
    const isSingle = drawBlocks(area, pixels);
    pen.strokeStyle = colours.ink;
    pen.lineWidth = 1;
    pen.beginPath();
    for (let x = 0; x < width; x++) {
      if (pixels[x].reserved > 0) pen.lineTo(axisLeft + x, area.y(pixels[x].reserved));
      if (state.matches && !isSingle) {
        pen.fillStyle = colours.accent;
        pen.fillRect(axisLeft + x, area.y(pixels[x].matched), 1, bottom - area.y(pixels[x].matched));
      }
    }
    pen.stroke();
    drawAxes(area);
    drawMarks(area);
    state.shown = {area: area, pixels: pixels};
    describeTime();
  }

  /* ---- The legend ---- */

  /* What is in use at a moment. Of a column only the moment of most bytes is known (its t, which may be another one): `within` are then
     its first and last entry. */
  function sumsAt(t) {
    const groups = data.groupings[state.grouping].groups.length, walk = walker(groups);
    if (isExact(t, t)) return exactPixel(walk, t, t + 1);
    const pixel = columnPixel(walk, t, t + 1, groups), first = columnRange(t, t + 1)[0] * columns.width;
    if (pixel.t !== t) pixel.within = [data.first + first, data.first + Math.min(first + columns.width, count) - 1];
    return pixel;
  }

  const entriesName = (within) => 'entries ' + number(within[0]) + ' to ' + number(within[1]);
  const usedText = (now) => now.within ? 'at most ' + bytes(now.total) + ' in use in ' + entriesName(now.within) :
    bytes(now.total) + ' in use ' + entryName(now.t);

  function drawLegend() {
    const grouping = data.groupings[state.grouping], now = sumsAt(state.t), list = byId('legend');
    list.textContent = '';
    if (now.within && now.total > 0)
      list.append(element('li', entryName(now.t) + ', when most was in use of ' + entriesName(now.within) + ': the others are not in the page', 'muted'));
    grouping.groups.map((name, g) => [g, name]).filter((item) => now.sums[item[0]] > 0).reverse().forEach((item) => {
      const line = element('li'), key = element('span', undefined, 'key');
      key.style.background = colours.groups[state.grouping][item[0]];
      line.append(key, element('span', bytes(now.sums[item[0]]), 'n'), ' ', element('span', item[1]));
      list.append(line);
    });
    if (list.childElementCount === 0) list.append(element('li', 'nothing is in use ' + entryName(state.t)));
  }

  /* ---- Segments ---- */

  function segmentsAt(t) {
    const out = [];
    ranges.filter((range) => isAt(range, t)).sort((a, b) => a.address - b.address).forEach((range) => {
      const last = out[out.length - 1];
      if (last && last.expandable && range.expandable && last.address + last.size === range.address && last.stream === range.stream &&
          last.pool === range.pool) {
        last.size += range.size;
      } else {
        out.push({address: range.address, size: range.size, expandable: range.expandable, small: range.small, stream: range.stream,
                  pool: range.pool, blocks: [], used: 0});
      }
    });
    if (!data.placed) return out;
    const here = blocks.filter((block) => isAt(block, t)).sort((a, b) => a.address - b.address);
    let at = 0;
    here.forEach((block) => {
      while (at < out.length && out[at].address + out[at].size <= block.address) at++;
      if (at === out.length || block.address < out[at].address) return;
      out[at].blocks.push(block);
      out[at].used += Math.ceil(block.size / 512) * 512;
    });
    return out.sort((a, b) => b.size - a.size || a.address - b.address);
  }

  function describeSegments(list) {
    const size = list.reduce((sum, segment) => sum + segment.size, 0), used = list.reduce((sum, segment) => sum + segment.used, 0);
    const blocksHere = list.reduce((sum, segment) => sum + segment.blocks.length, 0), now = sumsAt(state.t);
    const shown = blocks.reduce((sum, block) => sum + (isAt(block, state.t) ? block.size : 0), 0);
    let text = entryName(state.t) + ': ' + many(list.length, 'segment', 'segments') + ' of ' + bytes(size) + ', ' +
      many(blocksHere, 'block', 'blocks') + ' of ' + bytes(used) + ', ' + bytes(Math.max(0, size - used)) + ' free';
    if (!isExact(state.t, state.t) && now.total > shown)
      text += '; the blocks that are not in the page hold ' + (now.within ? 'at most ' : '') + bytes(now.total - shown) + ', which are shown as free';
    map.hidden = byId('map-keys').hidden = list.length === 0;
    byId('segments-summary').textContent = list.length > 0 ? text : 'The recording has no segments ' + entryName(state.t) + '.';
  }

  function drawMap() {
    const list = segmentsAt(state.t), gap = 3, rowHeight = 22, rowGap = 6, margin = 4;
    const width = Math.max(320, map.clientWidth) - 2 * margin;
    const size = list.reduce((sum, segment) => sum + segment.size, 0);
    const rowBytes = Math.max(list.length > 0 ? list[0].size : 1, size / 16, 1);
    const scale = (width - 40) / rowBytes;
    let x = margin, y = margin;
    state.places = [];
    list.forEach((segment) => {
      const wide = Math.max(3, segment.size * scale);
      if (x > margin && x + wide > width + margin) {
        x = margin;
        y += rowHeight + rowGap;
      }
      state.places.push({segment: segment, x: x, y: y, width: wide, scale: wide / segment.size});
      x += wide + gap;
    });
    const pen = prepare(map, Math.min(4000, y + rowHeight + margin)).pen, colour = colours.groups[state.grouping];
    state.places.forEach((place) => {
      pen.globalAlpha = 1;
      pen.fillStyle = colours.free;
      pen.fillRect(place.x, place.y, place.width, rowHeight);
      place.segment.blocks.forEach((block) => {
        const at = place.x + (block.address - place.segment.address) * place.scale;
        const wide = Math.max(0.5, Math.min(block.size * place.scale, place.x + place.width - at));
        const isMatch = state.matches && block.stack >= 0 && state.matches[block.stack];
        pen.globalAlpha = state.matches && !isMatch ? 0.3 : 1;
        pen.fillStyle = block === state.block ? colours.ink : isMatch ? colours.accent : colour[block.groups[state.grouping]];
        pen.fillRect(at, place.y, wide > 2 ? wide - 0.6 : wide, rowHeight);
      });
      pen.globalAlpha = 1;
      pen.strokeStyle = colours.muted;
      pen.strokeRect(place.x - 0.5, place.y - 0.5, place.width + 1, rowHeight + 1);
    });
    state.rowHeight = rowHeight;
    describeSegments(list);
  }

  function blockOnMap(x, y) {
    for (const place of state.places) {
      if (x < place.x || x > place.x + place.width || y < place.y || y > place.y + state.rowHeight) continue;
      const address = place.segment.address + (x - place.x) / place.scale;
      return {place: place, block: place.segment.blocks.find((block) => address >= block.address && address < block.address + block.size)};
    }
    return null;
  }

  /* ---- The chosen block ---- */

  function showBlock() {
    const list = byId('block-stack'), block = state.block;
    list.textContent = '';
    byId('native-line').hidden = !block;
    if (!block) {
      byId('block-summary').textContent = 'Point at the time line, or click a block.';
      return;
    }
    byId('block-summary').textContent = data.groupings[0].groups[block.groups[0]] + ': ' + summary(block, state.t);
    fillStack(list, block.stack, Infinity);
  }

  /* ---- Drawing when something changed ---- */

  let wanted = 0;
  const ALL = 7, TIME = 1, MAP = 2, WORDS = 4;
  function draw(parts) {
    if (wanted === 0) requestAnimationFrame(() => {
      const now = wanted;
      wanted = 0;
      if (now & TIME) drawTime();
      if (now & MAP) drawMap();
      if (now & WORDS) {
        drawLegend();
        showBlock();
        describeSearch();
        byId('moment').value = state.t === 0 ? '' : String(data.first + state.t - 1);
      }
    });
    wanted |= parts;
  }

  function choose(t, block) {
    state.t = Math.max(0, Math.min(count, Math.round(t)));
    state.block = block !== undefined ? block : state.block && isAt(state.block, state.t) ? state.block : null;
    draw(ALL);
  }

  function look(from, to) {
    const all = count + 1, span = Math.max(Math.min(8, all), Math.min(all, to - from));
    view.from = Math.max(0, Math.min(all - span, from));
    view.to = view.from + span;
    draw(TIME);
  }

  function zoom(factor, around) {
    const at = around === undefined ? Math.max(view.from, Math.min(view.to, state.t)) : around;
    look(at - (at - view.from) * factor, at + (view.to - at) * factor);
  }

  /* Brings a moment into view. */
  function reveal(t) {
    const span = view.to - view.from;
    if (t < view.from || t >= view.to) look(t - span / 2, t + span / 2);
  }

  /* ---- Pointer ---- */

  const tip = element('div', undefined, 'tip');
  tip.id = 'tip';
  tip.setAttribute('aria-hidden', 'true');
  tip.hidden = true;
  document.body.append(tip);

  /* What lies under a place of the time line. */
  function pointed(x, y) {
    if (!state.shown) return null;
    const area = state.shown.area, column = Math.floor(x - axisLeft);
    if (column < 0 || column >= state.shown.pixels.length || y < axisTop || y > area.bottom) return null;
    const pixel = state.shown.pixels[column], value = (area.bottom - y) / (area.bottom - axisTop) * area.most;
    let low = 0, group = -1;
    for (let g = 0; g < pixel.sums.length && group < 0; g++) {
      if (value < low + pixel.sums[g]) group = g;
      else low += pixel.sums[g];
    }
    const found = {t: pixel.t, group: group, bytes: group < 0 ? pixel.total : pixel.sums[group], block: null, reserved: pixel.reserved,
                   isOne: pixel.isOne};
    if (group < 0) return found;
    for (const block of blocks) {
      if (block.groups[state.grouping] !== group || !isAt(block, pixel.t)) continue;
      if (value < low + block.size) {
        found.block = block;
        break;
      }
      low += block.size;
    }
    return found;
  }

  function showTip(x, y, found) {
    tip.textContent = '';
    if (found.segment) {
      const segment = found.segment, private_ = segment.pool > 0 ? ', pool ' + (data.pools[segment.pool] || segment.pool) : '';
      tip.append(element('p', (segment.small ? 'small ' : '') + (segment.expandable ? 'expandable ' : '') + 'segment of ' + bytes(segment.size) +
        ', ' + bytes(Math.max(0, segment.size - segment.used)) + ' free, stream ' + data.streams[segment.stream] + private_, 'muted'));
    } else {
      const name = found.group < 0 ? 'in use' : data.groupings[state.grouping].groups[found.group];
      tip.append(element('p', name + ': ' + bytes(found.bytes) + ' ' + entryName(found.t), 'muted'));
    }
    if (found.block) {
      tip.append(element('p', summary(found.block, found.segment ? state.t : found.t)));
      const list = element('ol', undefined, 'stack');
      fillStack(list, found.block.stack, 12);
      tip.append(list);
    } else if (found.group >= 0) {
      tip.append(element('p', 'blocks that are not in the page one by one'));
    } else if (found.segment) {
      tip.append(element('p', 'free'));
    } else if (found.reserved > 0) {
      tip.append(element('p', (found.isOne ? '' : 'at most ') + bytes(found.reserved) + ' reserved'));
    }
    tip.hidden = false;
    const wide = tip.offsetWidth, high = tip.offsetHeight;
    tip.style.left = Math.max(4, Math.min(x + 14, document.documentElement.clientWidth - wide - 8)) + 'px';
    tip.style.top = Math.max(4, y + 18 + high > window.innerHeight ? y - high - 10 : y + 18) + 'px';
  }

  const place = (event, surface) => {
    const box = surface.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  let drag = null;
  canvas.addEventListener('pointerdown', (event) => {
    drag = {x: event.clientX, from: view.from, to: view.to, moved: false};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (drag && (drag.moved || Math.abs(event.clientX - drag.x) > 3)) {
      drag.moved = true;
      tip.hidden = true;
      const step = (drag.to - drag.from) / (state.shown ? state.shown.pixels.length : 1);
      look(drag.from - (event.clientX - drag.x) * step, drag.to - (event.clientX - drag.x) * step);
      return;
    }
    const found = pointed.apply(null, place(event, canvas));
    if (found) showTip(event.clientX, event.clientY, found);
    else tip.hidden = true;
  });
  canvas.addEventListener('pointerup', (event) => {
    const was = drag;
    drag = null;
    if (!was || was.moved) return;
    const found = pointed.apply(null, place(event, canvas));
    if (found) choose(found.t, found.block);
  });
  [canvas, map].forEach((surface) => surface.addEventListener('pointerleave', () => { tip.hidden = true; }));
  canvas.addEventListener('wheel', (event) => {
    if (!state.shown) return;
    event.preventDefault();
    const x = place(event, canvas)[0] - axisLeft, at = view.from + x / state.shown.pixels.length * (view.to - view.from);
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const step = event.deltaX / state.shown.pixels.length * (view.to - view.from);
      look(view.from + step, view.to + step);
    } else {
      zoom(event.deltaY > 0 ? 1.25 : 0.8, at);
    }
  }, {passive: false});
  map.addEventListener('pointermove', (event) => {
    const found = blockOnMap.apply(null, place(event, map));
    if (found) showTip(event.clientX, event.clientY, {segment: found.place.segment, block: found.block, group: -1});
    else tip.hidden = true;
  });
  map.addEventListener('click', (event) => {
    const found = blockOnMap.apply(null, place(event, map));
    if (found && found.block) choose(state.t, found.block);
  });

  /* ---- Keys ---- */

  /* The next block above or below the chosen one, as they are stacked at the chosen moment. */
  function nextBlock(step) {
    const list = blocks.filter((block) => isAt(block, state.t));
    list.sort((a, b) => a.groups[state.grouping] - b.groups[state.grouping] || a.index - b.index);
    const at = list.indexOf(state.block);
    if (list.length > 0) choose(state.t, list[at < 0 ? (step > 0 ? 0 : list.length - 1) : Math.max(0, Math.min(list.length - 1, at + step))]);
  }

  function go(t) {
    choose(t);
    reveal(state.t);
  }

  canvas.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = (view.to - view.from) / 10;
    const actions = {
      '+': () => zoom(0.5), '=': () => zoom(0.5), '-': () => zoom(2), '_': () => zoom(2), '0': () => look(0, count + 1),
      ArrowLeft: () => look(view.from - step, view.to - step), ArrowRight: () => look(view.from + step, view.to + step),
      ArrowUp: () => nextBlock(1), ArrowDown: () => nextBlock(-1), ',': () => go(state.t - 1), '.': () => go(state.t + 1),
      Home: () => go(0), End: () => go(count), p: () => go(data.peak[0]), P: () => go(data.peak[0]),
      f: () => { if (data.ooms.length > 0) go(data.ooms[0][0]); }, Escape: () => choose(state.t, null)
    };
    actions.F = actions.f;
    if (!Object.prototype.hasOwnProperty.call(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  });

  map.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const all = [];
    state.places.forEach((item) => item.segment.blocks.forEach((block) => all.push([item, block])));
    const at = all.findIndex((item) => item[1] === state.block);
    let next = -1;
    if (event.key === 'ArrowRight') next = at + 1;
    else if (event.key === 'ArrowLeft') next = Math.max(0, at - 1);
    else if (event.key === 'ArrowDown') next = at < 0 ? 0 : all.findIndex((item, i) => i > at && item[0] !== all[at][0]);
    else if (event.key === 'ArrowUp' && at > 0) {
      for (next = at; next > 0 && all[next][0] === all[at][0]; next--);
    } else return;
    event.preventDefault();
    if (next >= 0 && next < all.length) choose(state.t, all[next][1]);
  });

  /* ---- Controls ---- */

  /* The result's line is of the chosen moment. It is set only where it changes: it is read out. */
  function describeSearch() {
    const found = state.found, t = state.t, result = byId('search-result');
    let text = '';
    if (found) {
      const now = blocks.reduce((all, block) => all + (isAt(block, t) && block.stack >= 0 && state.matches[block.stack] ? block.size : 0), 0);
      text = many(found.stacks, 'stack', 'stacks') + ' of ' + number(stacks.length) + ': ' + many(found.count, 'allocation', 'allocations') +
        ' of ' + bytes(found.total) + ' in all, ' + bytes(found.peak) + ' at the peak, ' + bytes(now) + ' ' + entryName(t) +
        (isExact(t, t) ? '' : ' (of the blocks in the page)');
    }
    if (result.textContent !== text) result.textContent = text;
  }

  function search() {
    const wanted_ = byId('search').value.trim().toLowerCase();
    state.matches = state.found = null;
    if (wanted_.length > 0) {
      const hits = frames.map((frame) => (frame.name + ' ' + frame.file + ':' + frame.line).toLowerCase().includes(wanted_));
      const below = new Uint8Array(nodes.length);
      nodes.forEach((node, i) => { below[i] = hits[node.frame] || (node.parent >= 0 && below[node.parent]) ? 1 : 0; });
      state.matches = stacks.map((stack) => below[stack.node] === 1);
      const found = stacks.filter((_, i) => state.matches[i]);
      const sum = (key) => found.reduce((all, stack) => all + stack[key], 0);
      state.found = {stacks: found.length, count: sum('count'), total: sum('total'), peak: sum('peak')};
    }
    draw(ALL);
  }

  let typing = 0;
  byId('search').addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(search, 120);
  });
  data.groupings.forEach((grouping, i) => {
    const option = element('option', grouping.name === 'site' ? 'call site' : grouping.name);
    option.value = String(i);
    byId('grouping').append(option);
  });
  byId('grouping').addEventListener('change', (event) => {
    state.grouping = Number(event.target.value);
    draw(ALL);
  });
  byId('native').addEventListener('change', () => draw(WORDS));
  byId('zoom-in').addEventListener('click', () => zoom(0.5));
  byId('zoom-out').addEventListener('click', () => zoom(2));
  byId('zoom-all').addEventListener('click', () => look(0, count + 1));
  byId('to-peak').addEventListener('click', () => go(data.peak[0]));
  byId('to-oom').addEventListener('click', () => go(data.ooms[0][0]));
  byId('to-oom').hidden = data.ooms.length === 0;
  byId('moment').min = String(data.first);
  byId('moment').max = String(data.first + count - 1);
  byId('moment').addEventListener('change', (event) => {
    const value = Number(event.target.value);
    if (event.target.value !== '' && Number.isFinite(value)) go(value - data.first + 1);
  });

  /* The report is open without scripts and on paper; a reader's own choice comes back after printing. */
  const report = byId('report');
  let isReportOpen = false;
  report.open = false;
  window.addEventListener('beforeprint', () => {
    isReportOpen = report.open;
    report.open = true;
  });
  window.addEventListener('afterprint', () => { report.open = isReportOpen; });

  ['timeline', 'chosen', 'segments'].forEach((id) => { byId(id).hidden = false; });
  byId('picture').hidden = true;
  readColours();
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    readColours();
    draw(ALL);
  });
  window.addEventListener('resize', () => draw(TIME | MAP));
  document.documentElement.setAttribute('data-ready', 'true');
  draw(ALL);
})();
