"""What becomes of the measurements: JSON, a Markdown table, a plot, and the table
in the README. Ratios say how many times faster attnc is."""

import json
import os
import re
import statistics

import ours

HERE = os.path.dirname(os.path.abspath(__file__))
WRONG = ("† not the same work: its result is further from float64 than twice a plain float32 computation "
         "(PyTorch has no softcap and is timed without).")
README = os.path.join(os.path.dirname(HERE), "README.md")


def ratio(row, name, figure="min_ms"):
    return row["implementations"][name][figure] / row["implementations"][ours.NAME][figure]


def line(row):
    """One row in words."""
    texts = [f"{name} {figures['min_ms']:.3f} ms" + ("" if figures["right"] else f" WRONG ({figures['max_error']:.1e})")
             for name, figures in row["implementations"].items()]
    return "  " + ", ".join(texts)


def all_right(results):
    """True if none of our own results is further from float64 than allowed."""
    return all(row["implementations"][ours.NAME]["right"] for row in results["rows"] + results["lengths"])


def significant(milliseconds):
    return f"{milliseconds:.3g}" if milliseconds < 100 else f"{milliseconds:.0f}"


def cell(row, name):
    """A peer's ratio of the shortest times, that of the medians in brackets."""
    if name not in row["implementations"]:
        return ""
    dagger = "" if row["implementations"][name]["right"] else "†"
    return f"{ratio(row, name):.2f} ({ratio(row, name, 'median_ms'):.2f}){dagger}"


def geometric_mean(results, name):
    """Of a peer's ratios over the rows of attention alone, or None if it took part in none."""
    ratios = [ratio(row, name) for row in results["rows"]
              if row["kind"] == "Attention" and name in row["implementations"]]
    return statistics.geometric_mean(ratios) if ratios else None


def markdown(results):
    names = list(results["peers"])
    head = ["work", "ms", "GFLOP/s"] + [f"{name} / attnc" for name in names]
    lines = [f"{results['date']}, {results['machine']}, one core, float32; sizes are (batch, heads, len, head_dim). "
             "A column gives the other's shortest time over ours, in brackets the same of the medians.", "",
             "| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    for row in results["rows"]:
        mine = row["implementations"][ours.NAME]
        cells = [row["case"], significant(mine["min_ms"]), f"{mine['gflops']:.0f}"]
        lines.append("| " + " | ".join(cells + [cell(row, name) for name in names]) + " |")
    means = [geometric_mean(results, name) for name in names]
    cells = [f"{mean:.2f}" if mean else "" for mean in means]
    lines.append("| " + " | ".join(["**geometric mean of attention**", "", ""] + cells) + " |")
    versions = ", ".join(f"{name} {version}" for name, version in results["peers"].items())
    lines += ["", f"Beside attnc: {versions}. A mean is over the rows that the peer took part in; PyTorch, ONNX Runtime "
              f"and OpenVINO get masks other than causal, and biases, as dense tensors. {WRONG}"]
    return "\n".join(lines) + "\n"


def replace_between(text, name, content):
    """The text with what stands between the markers `name` replaced."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    return re.sub(f"(?s)(?<={re.escape(begin)}\n).*(?={re.escape(end)})", lambda _: content, text)


def update_readme(results):
    with open(README) as file:
        text = file.read()
    with open(README, "w") as file:
        file.write(replace_between(text, "bench", "\n" + markdown(results) + "\n"))


def plot(results, path):
    """Ratio per shape, and time against length."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows, names = results["rows"], list(results["peers"])
    figure, (shapes, lengths) = pyplot.subplots(1, 2, figsize=(15, 8), layout="constrained")
    for number, name in enumerate(names):
        at = [(i, ratio(row, name)) for i, row in enumerate(rows) if name in row["implementations"]]
        places, beyond = [i + number * 0.8 / len(names) for i, _ in at], [r - 1 for _, r in at]
        shapes.barh(places, beyond, left=1, height=0.8 / len(names), label=name, align="edge")
    shapes.axvline(1, color="black", linewidth=1)
    shapes.set(xscale="log", xlabel="their time / attnc's", title="Ratio per shape (right of the line: attnc is faster)")
    shapes.xaxis.set_major_formatter("{x:g}")
    shapes.grid(axis="x", alpha=0.3)
    shapes.set_yticks([i + 0.4 for i in range(len(rows))], [row["case"] for row in rows])
    shapes.invert_yaxis()
    shapes.legend()
    plot_lengths(lengths, results["lengths"])
    figure.suptitle(f"{results['machine']}, one core, float32, {results['date']}")
    figure.savefig(path, dpi=90)


def plot_lengths(axes, rows):
    """A line for each mask and implementation; the length is the third size."""
    lines = {}
    for row in rows:
        mask, sizes = re.fullmatch(r"(.*?)\s*\((.*)\)", row["case"]).groups()
        for name, figures in row["implementations"].items():
            lines.setdefault((mask or "full", name), []).append((int(sizes.split(",")[2]), figures["min_ms"]))
    colors = {mask: f"C{number}" for number, mask in enumerate(dict.fromkeys(mask for mask, _ in lines))}
    for (mask, name), points in lines.items():
        axes.plot(*zip(*points), "o-" if name == ours.NAME else "x--", color=colors[mask], label=f"{mask}, {name}")
    axes.set(xlabel="length", ylabel="ms", title="Time against length, one head of 64")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.grid(alpha=0.3)
    axes.legend()


def write(results, name):
    folder = os.path.join(HERE, "results")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name + ".json"), "w") as file:
        json.dump(results, file, indent=1)
    with open(os.path.join(folder, name + ".md"), "w") as file:
        file.write(markdown(results))
    update_readme(results)
    try:
        plot(results, os.path.join(folder, name + ".png"))
    except ImportError as error:
        print(f"no plot: {error}")
