# JupyterLab's menu has the exports whose programs are there: the others answer with an error of the server.
import shutil


def has(*programs):
    return all(map(shutil.which, programs))


c.ASCIIDocExporter.enabled = has("pandoc")
c.RSTExporter.enabled = has("pandoc")
# Inkscape converts the figures.
c.LatexExporter.enabled = has("pandoc", "inkscape")
c.PDFExporter.enabled = has("pandoc", "inkscape", "xelatex")
# These need packages that this environment lacks.
c.QtPDFExporter.enabled = False
c.QtPNGExporter.enabled = False
c.WebPDFExporter.enabled = False
