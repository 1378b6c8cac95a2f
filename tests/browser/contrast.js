// Texts whose colour differs too little from what is behind them (WCAG 2.2, level AA): a list of "ratio: text".
(() => {
  const channels = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  const over = (top, below) => {
    const alpha = top.length > 3 ? top[3] : 1;
    return [0, 1, 2].map((i) => top[i] * alpha + below[i] * (1 - alpha));
  };
  const luminance = (color) => {
    const [r, g, b] = color.map((c) => {
      const part = c / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const color = channels(getComputedStyle(at).backgroundColor);
      if (color.length < 3 || color[3] === 0) continue;
      layers.push(color);
      if (color.length === 3 || color[3] === 1) break;
    }
    const scheme = getComputedStyle(document.documentElement).colorScheme;
    let color = dark && scheme.includes("dark") ? [18, 18, 18] : [255, 255, 255];
    for (const layer of layers.reverse()) color = over(layer, color);
    return color;
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !element.checkVisibility || !element.checkVisibility()) continue;
    if (["SCRIPT", "STYLE", "TITLE", "DESC"].includes(element.tagName.toUpperCase())) continue;
    const style = getComputedStyle(element);
    const below = behind(element);
    const isDrawing = element.namespaceURI.endsWith("svg");
    const top = channels(isDrawing ? style.fill : style.color);
    if (top.length < 3) continue;
    const pair = [luminance(over(top, below)), luminance(below)].sort((a, b) => b - a);
    const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (isLarge ? 3 : 4.5) - 0.01) found.push(`${ratio.toFixed(2)}: ${node.data.trim().slice(0, 40)}`);
  }
  return [...new Set(found)].slice(0, 10);
})()
