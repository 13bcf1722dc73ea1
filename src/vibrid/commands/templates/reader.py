"""template-name: text files of a laboratory's own logger.

    TEMPLATE-NAME 1
    rate 100
    channels roof [mm], base [m/s^2]
    0.12 0.003
    …

Try it with `vibrid plugins check template_name.py`. Files are recognised by their content once the plugin is loaded:

    plugins = ["template_name.py"]       # in the project file
"""

import numpy as np

from vibrid.extend import READERS, Reader, assemble

requires_vibrid = "template-versions"
MARK = "TEMPLATE-NAME 1"


@READERS.register("template-name")
class TemplateName(Reader):
    """Three heading lines, then one line per sample."""

    def recognises(self, source):
        return bool(source.head_lines) and source.head_lines[0].strip() == MARK

    def read(self, source, layout):
        lines = list(source.lines())
        if len(lines) < 4:
            raise source.problem("the file ends before its first sample.")
        word, _, rate = lines[1].partition(" ")
        try:
            step = 1.0 / float(rate)
        except (ValueError, ZeroDivisionError):
            step = 0.0
        if word != "rate" or not 0.0 < step < 1e6:
            raise source.problem("the second line should give the samples per second, such as `rate 100`.", 2)
        word, _, listed = lines[2].partition(" ")
        headings = [heading.strip() for heading in listed.split(",")]
        if word != "channels" or not all(headings):
            raise source.problem("the third line should name the channels, such as `channels roof [mm]`.", 3)
        names, units = zip(*(self._split(heading) for heading in headings), strict=True)
        data = np.array([self._numbers(source, line, i, len(names)) for i, line in enumerate(lines[3:], 4)])
        return [assemble(source, data, names, units, layout, kind="template-name", step=step, unit_line=3)]

    @staticmethod
    def _split(heading):
        """`roof [mm]` as name and unit."""
        name, _, unit = heading.partition("[")
        return name.strip(), unit.strip(" ]") or None

    @staticmethod
    def _numbers(source, line, number, count):
        try:
            values = [float(word) for word in line.split()]
        except ValueError:
            raise source.problem("a number was expected.", number) from None
        if len(values) != count:
            raise source.problem(f"{count} numbers were expected, not {len(values)}.", number)
        return values


def examples():
    """A whole file of the format."""
    rows = "".join(f"{np.sin(0.1 * i):.6f} {0.01 * np.cos(0.1 * i):.6f}\n" for i in range(50))
    return {"template-name": f"{MARK}\nrate 100\nchannels roof [mm], base [m/s^2]\n{rows}".encode()}
