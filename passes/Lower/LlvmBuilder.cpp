#include "passes/Lower/LlvmBuilder.h"

using namespace mlir;
using namespace p3d::lower;

Value LlvmBuilder::i32(int64_t value) {
  return builder.create<LLVM::ConstantOp>(loc, builder.getI32Type(), builder.getI32IntegerAttr(value));
}
Value LlvmBuilder::i64(int64_t value) {
  return builder.create<LLVM::ConstantOp>(loc, builder.getI64Type(), builder.getI64IntegerAttr(value));
}
Value LlvmBuilder::f32(double value) {
  return builder.create<LLVM::ConstantOp>(loc, builder.getF32Type(), builder.getF32FloatAttr(value));
}
Value LlvmBuilder::null() { return builder.create<LLVM::ZeroOp>(loc, pointer); }

Value LlvmBuilder::offset(Value base, int64_t bytes) { return bytes == 0 ? base : offset(base, i64(bytes)); }
Value LlvmBuilder::offset(Value base, Value bytes) {
  return builder.create<LLVM::GEPOp>(loc, pointer, builder.getI8Type(), base, ArrayRef<LLVM::GEPArg>(bytes));
}
Value LlvmBuilder::add(Value a, Value b) { return builder.create<LLVM::AddOp>(loc, a, b); }
Value LlvmBuilder::mul(Value a, int64_t b) { return b == 1 ? a : builder.create<LLVM::MulOp>(loc, a, i64(b)).getResult(); }

Value LlvmBuilder::remainder(Value a, int64_t b) { return builder.create<LLVM::SRemOp>(loc, a, i64(b)); }
Value LlvmBuilder::loadI64(Value address) { return builder.create<LLVM::LoadOp>(loc, builder.getI64Type(), address); }

LLVM::LLVMFuncOp LlvmBuilder::declare(StringRef name, ArrayRef<Type> arguments, Type result) {
  if (auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return function;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(module.getBody());
  Type returned = result ? result : LLVM::LLVMVoidType::get(builder.getContext());
  return builder.create<LLVM::LLVMFuncOp>(loc, name, LLVM::LLVMFunctionType::get(returned, arguments));
}

Value LlvmBuilder::call(StringRef name, ValueRange args, Type result) {
  auto call = builder.create<LLVM::CallOp>(loc, declare(name, SmallVector<Type>(args.getTypes()), result), args);
  return result ? call.getResult() : Value();
}

Value LlvmBuilder::addressOf(StringRef name, ArrayRef<Type> arguments) {
  return builder.create<LLVM::AddressOfOp>(loc, declare(name, arguments, {}));
}

Value LlvmBuilder::array(ValueRange values) {
  constexpr int64_t kElementBytes = 8;
  Value place = builder.create<LLVM::AllocaOp>(loc, pointer, builder.getI64Type(), i64(values.size()), kElementBytes);
  for (auto [i, value] : llvm::enumerate(values))
    builder.create<LLVM::StoreOp>(loc, value, offset(place, int64_t(i) * kElementBytes));
  return place;
}

Value LlvmBuilder::constantBytes(StringRef bytes, int64_t alignment) {
  std::string &name = constants[bytes];
  if (name.empty()) {
    name = "constant_" + std::to_string(constants.size());
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes.size());
    auto global = builder.create<LLVM::GlobalOp>(loc, type, /*isConstant=*/true, LLVM::Linkage::Internal, name,
                                                 builder.getStringAttr(bytes));
    global.setAlignment(alignment);
  }
  return builder.create<LLVM::AddressOfOp>(loc, pointer, name);
}

LLVM::LLVMFuncOp LlvmBuilder::startFunction(StringRef name, ArrayRef<Type> arguments) {
  builder.setInsertionPointToEnd(module.getBody());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), arguments);
  auto function = builder.create<LLVM::LLVMFuncOp>(loc, name, type);
  builder.setInsertionPointToStart(function.addEntryBlock(builder));
  return function;
}

void LlvmBuilder::finishFunction() { builder.create<LLVM::ReturnOp>(loc, ValueRange()); }
