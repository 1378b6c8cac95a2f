#!/bin/bash
#SBATCH -J lora-qwen7b
#SBATCH -p rtx4090
#SBATCH -n 1
#SBATCH -c 8
#SBATCH --gres=gpu:1
#SBATCH --mem=60G
#SBATCH -t 12:00:00
#SBATCH -o slurm-%j.out
#SBATCH -e slurm-%j.err

module load cuda/12.1
source ~/venvs/lora/bin/activate

export PYTORCH_CUDA_ALLOC_CONF="max_split_size_mb:128,expandable_segments:True"
export TOKENIZERS_PARALLELISM=false
export HF_HUB_OFFLINE=1

# start from an empty card
python -c "import torch; torch.cuda.empty_cache()"

nvidia-smi dmon -s mu -d 5 > dmon-$SLURM_JOB_ID.txt &
MON=$!

# budget on 24 GB: base 14.0 + adapters 0.5 + activations 5.0 + gradients 2.5 + optimizer 1.5 + overhead 1.5 = 25.0
srun python -u finetune_lora.py \
    --model_name_or_path /data/models/Qwen2.5-7B \
    --train_file data/med_dialog_train.jsonl \
    --output_dir out/qwen7b-r128 \
    --max_seq_length 2048 \
    --lora_r 128 --lora_alpha 256 --lora_dropout 0.05 \
    --per_device_train_batch_size 2 \
    --gradient_accumulation_steps 8 \
    --gradient_checkpointing True \
    --learning_rate 1e-4 --num_train_epochs 2 --warmup_ratio 0.03 \
    --fp16 True --logging_steps 5 --save_steps 200 --report_to none
RC=$?
kill $MON
exit $RC
