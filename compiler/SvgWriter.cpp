#include "compiler/SvgWriter.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace p3d;
using llvm::formatv;

static std::string escape(const llvm::Twine &text) {
  std::string escaped;
  llvm::raw_string_ostream os(escaped);
  llvm::printHTMLEscaped(text.str(), os);
  return escaped;
}

// not messages: SVG
void SvgWriter::open(double width, double height, llvm::StringRef style) {
  os << formatv(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:f0}\" height=\"{1:f0}\" viewBox=\"0 0 {0:f0} {1:f0}\">\n",
      width, height);
  os << "<style>" << style << "</style>\n";
  os << "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\">"
        "<rect width=\"6\" height=\"6\" fill=\"#fbfbfb\"/><rect width=\"1.2\" height=\"6\" "
        "fill=\"#cfcfcf\"/></pattern>"
        "<marker id=\"arrow\" viewBox=\"0 0 6 6\" refX=\"5.5\" refY=\"3\" markerWidth=\"5\" markerHeight=\"5\" "
        "orient=\"auto\">"
        "<path d=\"M0,0 L6,3 L0,6 z\" fill=\"context-stroke\"/></marker></defs>\n";
  os << "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
}

void SvgWriter::close() { os << "</svg>\n"; }

void SvgWriter::beginGroup(llvm::StringRef css, const llvm::Twine &name) {
  os << formatv("<g class=\"{0}\" aria-label=\"{1}\">\n", css, escape(name));
}

void SvgWriter::endGroup() { os << "</g>\n"; }

// not messages: SVG
void SvgWriter::rect(double x, double y, double width, double height, const llvm::Twine &css,
                     const llvm::Twine &title) {
  os << formatv("<rect class=\"{0}\" x=\"{1:f3}\" y=\"{2:f1}\" width=\"{3:f3}\" height=\"{4:f1}\"", css.str(), x, y,
                width, height);
  if (title.isTriviallyEmpty())
    os << "/>\n";
  else
    os << "><title>" << escape(title) << "</title></rect>\n";
}

// not messages: SVG
void SvgWriter::line(double x1, double y1, double x2, double y2, const llvm::Twine &css) {
  os << formatv("<line class=\"{0}\" x1=\"{1:f2}\" y1=\"{2:f1}\" x2=\"{3:f2}\" y2=\"{4:f1}\"/>\n", css.str(), x1, y1,
                x2, y2);
}

// not messages: SVG
void SvgWriter::text(double x, double y, const llvm::Twine &css, const llvm::Twine &text) {
  os << formatv("<text class=\"{0}\" x=\"{1:f1}\" y=\"{2:f1}\">{3}</text>\n", css.str(), x, y, escape(text));
}
