// Elements of an SVG file. Texts and titles are escaped here.
#pragma once

#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

namespace p3d {

class SvgWriter {
public:
  explicit SvgWriter(llvm::raw_ostream &os) : os(os) {}

  /// Begins a picture of this size, white, with a style sheet, the pattern "hatch" and the marker "arrow".
  void open(double width, double height, llvm::StringRef style);
  void close();

  void beginGroup(llvm::StringRef css, const llvm::Twine &name);
  void endGroup();
  /// `title` appears where one points at it.
  void rect(double x, double y, double width, double height, const llvm::Twine &css, const llvm::Twine &title = "");
  void line(double x1, double y1, double x2, double y2, const llvm::Twine &css);
  void text(double x, double y, const llvm::Twine &css, const llvm::Twine &text);

private:
  llvm::raw_ostream &os;
};

} // namespace p3d
