# gnuplot -e "model='models/tinystories-llama'" experiments/training/plot_loss.gp
set terminal svg size 640,400 font "sans,12" background "white"
set output model.'/loss_curve.svg'
set datafile separator ','
set xlabel 'step'
set ylabel 'loss (nats per token)'
set grid
set key top right
plot model.'/training_log.csv' skip 1 using 1:2 with linespoints pointtype 7 pointsize 0.4 title 'train', \
     '' skip 1 using 1:3 with linespoints pointtype 7 pointsize 0.4 title 'validation'
