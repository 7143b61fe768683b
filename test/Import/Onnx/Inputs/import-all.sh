# import-all.sh ENCODE FOLDER: imports every .textproto of the folder, and says how that ended.
for text in "$2"/*.textproto; do
  model=${text%.textproto}.onnx
  $1 <"$text" >"$model"
  attnc import "$model" -o /dev/null
  echo "exit code $?"
done
