// The enumerations of StableHLO, each with its attribute `#stablehlo<KIND VALUE>`.
#ifndef P3D_STABLEHLO_ENUMS
#define P3D_STABLEHLO_ENUMS

include "dialects/StableHLO/StableHLODialect.td"
include "mlir/IR/EnumAttr.td"

class StableHLO_Enum<string name, string description, list<string> names>
    : I32EnumAttr<name, description, !foreach(i, !range(!size(names)),
                  I32EnumAttrCase<names[i], i>)> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::p3d::stablehlo";
}

class StableHLO_EnumAttr<EnumAttrInfo info, string attrMnemonic> : EnumAttr<StableHLO_Dialect, info, attrMnemonic>;

def StableHLO_Precision : StableHLO_Enum<"Precision", "how exact a product has to be", ["DEFAULT", "HIGH", "HIGHEST"]>;
def StableHLO_PrecisionAttr : StableHLO_EnumAttr<StableHLO_Precision, "precision">;

def StableHLO_ComparisonDirection
    : StableHLO_Enum<"ComparisonDirection", "relation that is tested", ["EQ", "NE", "GE", "GT", "LE", "LT"]>;
def StableHLO_ComparisonDirectionAttr : StableHLO_EnumAttr<StableHLO_ComparisonDirection, "comparison_direction">;

def StableHLO_ComparisonType
    : StableHLO_Enum<"ComparisonType", "how the compared elements are understood",
                     ["NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"]>;
def StableHLO_ComparisonTypeAttr : StableHLO_EnumAttr<StableHLO_ComparisonType, "comparison_type">;

def StableHLO_FftType : StableHLO_Enum<"FftType", "kind of Fourier transform", ["FFT", "IFFT", "RFFT", "IRFFT"]>;
def StableHLO_FftTypeAttr : StableHLO_EnumAttr<StableHLO_FftType, "fft_type">;

def StableHLO_RngDistribution : StableHLO_Enum<"RngDistribution", "distribution drawn from", ["UNIFORM", "NORMAL"]>;
def StableHLO_RngDistributionAttr : StableHLO_EnumAttr<StableHLO_RngDistribution, "rng_distribution">;

def StableHLO_RngAlgorithm
    : StableHLO_Enum<"RngAlgorithm", "generator of random bits", ["DEFAULT", "THREE_FRY", "PHILOX"]>;
def StableHLO_RngAlgorithmAttr : StableHLO_EnumAttr<StableHLO_RngAlgorithm, "rng_algorithm">;

def StableHLO_Transpose
    : StableHLO_Enum<"Transpose", "how a triangular matrix is read",
                     ["TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"]>;
def StableHLO_TransposeAttr : StableHLO_EnumAttr<StableHLO_Transpose, "transpose">;

def StableHLO_ResultAccuracyMode
    : StableHLO_Enum<"ResultAccuracyMode", "which implementation a function asks for",
                     ["DEFAULT", "HIGHEST", "TOLERANCE"]>;
def StableHLO_ResultAccuracyModeAttr : StableHLO_EnumAttr<StableHLO_ResultAccuracyMode, "result_accuracy_mode"> {
  let assemblyFormat = "`<` $value `>`";
}

#endif // P3D_STABLEHLO_ENUMS
