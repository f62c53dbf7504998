// Measures the drawings of a page: for each, what a reader would see as wrong, and where its nodes are.
// Lengths are pixels; drawings use no transforms, so that every box is in the drawing's own coordinates.
"use strict";

const box = (element) => {
  const {x, y, width, height} = element.getBBox();
  return {x, y, right: x + width, bottom: y + height};
};
const inside = (inner, outer, slack) =>
  inner.x >= outer.x - slack && inner.y >= outer.y - slack &&
  inner.right <= outer.right + slack && inner.bottom <= outer.bottom + slack;
const meet = (a, b, slack) =>
  Math.min(a.right, b.right) - Math.max(a.x, b.x) > slack && Math.min(a.bottom, b.bottom) - Math.max(a.y, b.y) > slack;
const words = (text) => Array.from(text.childNodes).filter((node) => node.nodeType === Node.TEXT_NODE)
  .map((node) => node.data).join("").trim();

function measure(svg) {
  const wrong = [];
  const background = box(svg.querySelector(":scope > rect"));
  const nodes = Array.from(svg.querySelectorAll(":scope > g"), (group) => {
    const shape = group.querySelector("rect, path");
    return {shape, ...box(shape), fill: shape.getAttribute("fill"), name: words(group.querySelector("text"))};
  });
  const texts = Array.from(svg.querySelectorAll("text"), (text) => ({text, words: words(text), ...box(text)}))
    .filter((each) => each.words);
  for (const each of texts) {
    const group = each.text.closest("g");
    if (group) {
      const shape = group.querySelector("rect, path");
      const middle = (each.y + each.bottom) / 2;
      const within = [each.x, each.right].every((x) => shape.isPointInFill(new DOMPoint(x, middle)));
      if (!within || !inside(each, box(shape), 0.5)) wrong.push(`the text ${each.words} leaves its node`);
    } else if (each.text.hasAttribute("font-weight")) {
      if (!inside(each, box(each.text.previousElementSibling), 0.5)) wrong.push(`the title ${each.words} leaves its box`);
    } else {
      if (!inside(each, background, 0.5)) wrong.push(`the label ${each.words} leaves the drawing`);
      for (const node of nodes) {
        if (meet(each, node, 1)) wrong.push(`the label ${each.words} lies on ${node.name}`);
      }
    }
  }
  texts.forEach((one, at) => texts.slice(at + 1).forEach((other) => {
    if (meet(one, other, 1)) wrong.push(`the texts ${one.words} and ${other.words} overlap`);
  }));
  nodes.forEach((one, at) => nodes.slice(at + 1).forEach((other) => {
    if (meet(one, other, 0)) wrong.push(`${one.name} and ${other.name} overlap`);
  }));
  for (const arrow of svg.querySelectorAll(":scope > path[marker-end]")) {
    const length = arrow.getTotalLength();
    for (let at = 3; at < length - 3; at += 3) {
      const point = arrow.getPointAtLength(at);
      const hit = nodes.find((node) => node.shape.isPointInFill(point));
      if (hit) {
        wrong.push(`an arrow crosses ${hit.name}`);
        break;
      }
    }
  }
  return {
    wrong,
    texts: texts.map((each) => each.words),
    nodes: nodes.map(({x, y, right, bottom, fill, name}) => ({x, y, right, bottom, fill, name})),
    arrows: svg.querySelectorAll(":scope > path[marker-end]").length,
    scripts: svg.querySelectorAll("script, foreignObject, a, image").length,
  };
}

const found = Object.fromEntries(Array.from(document.querySelectorAll("section"),
  (section) => [section.id, measure(section.querySelector("svg"))]));
const result = document.createElement("pre");
result.id = "measured";
result.textContent = JSON.stringify(found);
document.body.append(result);
